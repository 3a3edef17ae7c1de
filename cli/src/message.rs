//! Messages on standard error: one line each, without control characters.

use std::borrow::Cow;
use std::io::{Write, stderr};

/// Reports the error that ends the program.
pub(crate) fn error(error: &anyhow::Error) {
    line(&format!("polysort: {error:#}"));
}

/// Reports a fact that the user should know and that is not an error.
pub(crate) fn note(text: &str) {
    line(&format!("polysort: note: {text}"));
}

fn line(text: &str) {
    // If standard error is closed, the message is lost.
    writeln!(stderr(), "{}", printable(text)).ok();
}

/// Escapes the characters of names and fields that would break a line or change the state of a terminal.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let escape = |char: char| if is_unprintable(char) { char.escape_default().to_string() } else { char.to_string() };
    Cow::Owned(text.chars().map(escape).collect())
}

/// Whether a character is a control character, ends a line, or changes the direction of the text after it.
fn is_unprintable(char: char) -> bool {
    char.is_control() || matches!(char, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unprintable_characters_are_escaped() {
        assert_eq!(printable("a \"name\" \\ größe 高さ e\u{301}"), "a \"name\" \\ größe 高さ e\u{301}");
        assert_eq!(printable("\x1b]0;x\x07\r\n\u{9b}2J\u{202e}"), r"\u{1b}]0;x\u{7}\r\n\u{9b}2J\u{202e}");
    }
}
