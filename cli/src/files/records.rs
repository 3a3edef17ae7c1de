//! Splits the text of a .csv into records, each of which is a range of the text.
//!
//! ```text
//! text      id,note\r\n "a\r\nb",1\n  \n  2,x
//! record    [ content ][ end ]                    the csv crate finds the fields; the gaps between contents are ends of lines
//! ```
//!
//! A record is written again as its range of the text: so its quotes and its end of line stay as they are.

use anyhow::{Result, bail};
use core::ops::Range;
use csv::{ByteRecord, Reader, ReaderBuilder};

/// A row or the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The range of the fields in the text.
    pub(crate) content: Range<usize>,
    /// The index after the end of line. It equals `content.end` if the text ends without one.
    pub(crate) end: usize,
}

impl Record {
    /// Whether the record is a line without any character.
    pub(crate) fn is_blank(&self) -> bool {
        self.content.is_empty()
    }

    /// Returns the range of the end of line.
    pub(crate) fn line_end(&self) -> Range<usize> {
        self.content.end..self.end
    }
}

/// Reads one record after another.
pub(crate) struct Records<'a> {
    text: &'a [u8],
    /// The index where the next record begins.
    next: usize,
    reader: Reader<&'a [u8]>,
    /// The index where the text of the reader begins.
    origin: usize,
    /// The lines of the input before the text.
    lines_before: usize,
    /// The fields of the current record, without quotes.
    fields: ByteRecord,
}

impl<'a> Records<'a> {
    /// Reads the records from `origin` on. `lines_before` is the number of lines of the input before the text.
    pub(crate) fn new(text: &'a [u8], origin: usize, lines_before: usize) -> Self {
        let reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&text[origin..]);
        Self { text, next: origin, reader, origin, lines_before, fields: ByteRecord::new() }
    }

    /// Returns the next record and its fields; none at the end of the text. A blank line is a record with one empty field.
    ///
    /// # Errors
    /// If a quote is not closed.
    pub(crate) fn next(&mut self) -> Result<Option<(Record, &ByteRecord)>> {
        let begin = self.next;
        if begin == self.text.len() {
            return Ok(None);
        }
        let content = if line_end(self.text, begin) > 0 {
            // The reader of the csv crate skips blank lines when it reads the next record.
            self.fields.clear();
            self.fields.push_field(b"");
            begin..begin
        } else {
            self.reader.read_byte_record(&mut self.fields)?;
            // The reader stops after the first byte of the end of line, or at the end of the text.
            let read = self.origin + self.reader.position().byte() as usize;
            let is_last = read == self.text.len();
            if let Some(quote) = Some(&self.text[begin..]).filter(|_| is_last).and_then(unclosed_quote) {
                let line = self.lines_before + line_of(self.text, begin + quote);
                bail!("line {line}: the quote that opens here is never closed");
            }
            let is_ended = self.text[begin..read].last().is_some_and(is_line_end);
            begin..read - usize::from(is_ended)
        };
        self.next = content.end + line_end(self.text, content.end);
        Ok(Some((Record { content, end: self.next }, &self.fields)))
    }
}

fn is_line_end(byte: &u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Returns the number of bytes of the end of line at an index: 2 for CRLF, 1 for LF or CR, 0 if there is none.
fn line_end(text: &[u8], at: usize) -> usize {
    match text[at..] {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    }
}

/// Returns the index of the quote that the last field of a record opens and does not close.
fn unclosed_quote(record: &[u8]) -> Option<usize> {
    let mut field = 0;
    loop {
        let mut at = field;
        if record.get(field) == Some(&b'"') {
            // Two quotes stand for one; a single one closes the field.
            at += 1;
            loop {
                at += record[at..].iter().position(|&byte| byte == b'"').map_or(record.len(), |quote| quote + 1);
                match record.get(at) {
                    _ if at > record.len() => return Some(field),
                    Some(b'"') => at += 1,
                    _ => break,
                }
            }
        }
        field = at + record[at..].iter().position(|&byte| byte == b',')? + 1;
    }
}

/// Returns the line that an index is in, counted from 1. It reads the text up to there, so only messages call it.
pub(crate) fn line_of(text: &[u8], index: usize) -> usize {
    let mut at = 0;
    let mut line = 1;
    while at < index {
        let length = line_end(text, at);
        line += usize::from(length > 0);
        at += length.max(1);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The content and the end of line of every record, and its fields.
    fn split(text: &str) -> Result<Vec<(&str, &str, Vec<String>)>> {
        let (mut records, mut all) = (Records::new(text.as_bytes(), 0, 0), vec![]);
        while let Some((record, fields)) = records.next()? {
            let fields = fields.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect();
            all.push((&text[record.content.clone()], &text[record.line_end()], fields));
        }
        Ok(all)
    }

    #[test]
    fn records_and_ends_of_lines_are_the_whole_text() -> Result<()> {
        // Every text of up to six of these characters that closes its quotes.
        let letters = ['a', ',', '"', '\r', '\n'];
        let (mut whole, mut unclosed) = (0, 0);
        for length in 0..=6 {
            for code in 0..letters.len().pow(length) {
                let text: String = (0..length).map(|i| letters[code / letters.len().pow(i) % letters.len()]).collect();
                let Ok(records) = split(&text) else {
                    unclosed += 1;
                    // The csv crate then takes the rest of the text for one field, so that a closing quote adds no field.
                    let fields = |text: &str| {
                        let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
                        reader.byte_records().map(|record| record.map_or(0, |record| record.len())).collect::<Vec<_>>()
                    };
                    assert_eq!(fields(&text), fields(&format!("{text}\"")), "{text:?}");
                    assert_eq!(fields(&text), fields(&format!("{text},\"")), "{text:?}");
                    continue;
                };
                whole += 1;
                let again: String = records.iter().map(|(content, end, _)| format!("{content}{end}")).collect();
                assert_eq!(again, text);
                // The records that are not blank are those of the csv crate.
                let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
                let expected: Vec<Vec<String>> = reader.records().map(|r| r.unwrap().iter().map(Into::into).collect()).collect();
                let filled: Vec<&Vec<String>> = records.iter().filter(|r| !r.0.is_empty()).map(|r| &r.2).collect();
                assert_eq!(filled, expected.iter().collect::<Vec<_>>(), "{text:?}");
                for (content, end, _) in &records {
                    assert!(["", "\n", "\r", "\r\n"].contains(end), "{text:?}");
                    assert!(!content.starts_with(['\r', '\n']) && !content.ends_with(['\r', '\n']), "{text:?}");
                }
            }
        }
        assert!(whole > 10_000 && unclosed > 2000, "{whole} {unclosed}");
        Ok(())
    }

    #[test]
    fn an_unclosed_quote_is_found_where_it_opens() {
        let error = |text: &str| split(text).map(|_| ()).map_err(|error| error.to_string());
        let at = |line| Err(format!("line {line}: the quote that opens here is never closed"));
        assert_eq!(error("a,b\n1,\"x\n2,y\n"), at(2));
        assert_eq!(error("a,b\r\n\"1\r\n\"\"\",\"x\r\n2,y\r\n"), at(3));
        assert_eq!(error("\""), at(1));
        assert_eq!(error("a,b\n1,\"x\"\"\n2,y\n"), at(2));
        // A quote inside a field is a character like any other.
        assert_eq!(error("a,b\n1,x\"\n2,\"y\"z\"\n"), Ok(()));
    }

    #[test]
    fn lines_are_counted_by_any_end_of_line() {
        assert_eq!(["a\nb\nc", "a\r\nb\r\nc", "a\rb\rc"].map(|text| line_of(text.as_bytes(), text.len() - 1)), [3; 3]);
    }
}
