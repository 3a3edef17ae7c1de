//! Text for a page: escapes, numbers with units, and the style of the page.

/// Returns a text as content of an element or of an attribute in double quotes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            // Parsers of pages replace or refuse other control characters.
            char if char.is_control() && !"\n\t".contains(char) => escaped.push('\u{fffd}'),
            char => escaped.push(char),
        }
    }
    escaped
}

/// Returns a number of keys: `2^20` or `1000`.
pub(crate) fn length(n: usize) -> String {
    if n.is_power_of_two() { format!("2^{}", n.ilog2()) } else { n.to_string() }
}

/// Returns a number of keys with the exponent raised.
pub(crate) fn length_html(n: usize) -> String {
    if n.is_power_of_two() { format!("2<sup>{}</sup>", n.ilog2()) } else { n.to_string() }
}

/// Returns a time with its unit, in three digits.
pub(crate) fn duration(nanos: f64) -> String {
    let (value, unit) = match nanos {
        ..1e3 => (nanos, "ns"),
        ..1e6 => (nanos / 1e3, "µs"),
        ..1e9 => (nanos / 1e6, "ms"),
        _ => (nanos / 1e9, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// Returns a ratio: `0.85`, `12.5`, `140`.
pub(crate) fn ratio(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2}") } else { digits(ratio) }
}

/// Returns a number in three digits.
pub(crate) fn digits(value: f64) -> String {
    match value {
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// The style of the page.
pub(crate) const STYLE: &str = "\
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1200px; padding: 0 16px 48px; background: #fff; color: #1a1a1a; font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 28px 0 8px; }
h2 { font-size: 1.5rem; margin: 56px 0 8px; padding-top: 12px; border-top: 2px solid #1a1a1a; overflow-wrap: anywhere; }
h3 { font-size: 1.2rem; margin: 36px 0 4px; }
h4 { font-size: 1rem; margin: 0 0 2px; text-align: center; }
p, ul { max-width: 75ch; }
li { overflow-wrap: anywhere; }
nav ul { padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: 4px 20px; }
a { color: #0059a8; }
figure { margin: 20px 0 28px; }
figcaption { font-size: .9rem; color: #444; max-width: 95ch; margin-bottom: 8px; overflow-wrap: anywhere; }
figcaption > b:first-child { display: block; font-size: 1.02rem; color: #1a1a1a; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 350px), 1fr)); gap: 14px 18px; }
.panels svg { display: block; width: 100%; height: auto; }
.legend { position: sticky; top: 0; z-index: 1; max-width: none; margin: 0 0 8px; padding: 5px 0; list-style: none; display: flex; flex-wrap: wrap; gap: 2px 18px; background: #fff; font-size: .9rem; }
.legend li { display: flex; align-items: center; gap: 6px; white-space: nowrap; }
.heats { display: flex; flex-wrap: wrap; gap: 0 24px; }
.heats figure { width: min-content; min-width: min(100%, 550px); max-width: 100%; margin-bottom: 8px; }
.scroll { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 2px; font-size: .9rem; }
th, td { padding: 4px 8px; text-align: left; vertical-align: top; }
th { font-weight: 600; }
table.plain { border-collapse: collapse; }
table.plain td, table.plain thead th { border-bottom: 1px solid #ccc; }
table.plain th.group { padding-top: 14px; border-bottom: 1px solid #ccc; }
table.plain thead th.number { white-space: normal; min-width: 4.6em; }
td.code { white-space: nowrap; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
table.heat td, table.heat thead th { min-width: 54px; padding: 3px 4px; text-align: center; line-height: 1.25; font-variant-numeric: tabular-nums; }
table.heat tbody th { position: sticky; left: 0; background: #fff; white-space: nowrap; padding: 4px 8px 4px 0; }
table.heat th.group { padding-top: 10px; font-weight: 400; color: #444; }
table.heat thead th.corner { text-align: left; padding-left: 0; }
table.heat small { display: block; font-size: .68rem; white-space: nowrap; }
td.none { color: #767676; }
.scale { display: flex; white-space: nowrap; flex-wrap: wrap; align-items: center; gap: 2px; margin-bottom: 8px; font-size: .85rem; }
.scale span { padding: 2px 7px; }
details { margin: 10px 0; }
summary { cursor: pointer; font-weight: 600; }
pre { overflow-x: auto; padding: 10px; background: #f5f5f5; font-size: .8rem; white-space: pre-wrap; overflow-wrap: anywhere; }
code { font-size: .9em; overflow-wrap: anywhere; }
@media (max-width: 640px) {
  body { padding: 0 10px 32px; }
  table.heat { border-spacing: 1px; }
  table.plain { font-size: .8rem; }
  table.plain th, table.plain td { padding: 4px 5px 4px 0; }
  .scale span { padding: 2px 4px; }
  .scale { font-size: .75rem; }
  table.heat td, table.heat thead th { min-width: 40px; padding: 3px 2px; font-size: .8rem; }
  table.heat small { display: none; }
}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_markup_becomes_text() {
        assert_eq!(escape("<a href=\"x\">'&'</a>\u{1b}"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;\u{fffd}");
    }

    #[test]
    fn numbers_have_units_and_three_digits() {
        assert_eq!([5.0, 1234.0, 99_960.0, 5.5e6, 2e9].map(duration), ["5.00 ns", "1.23 µs", "100 µs", "5.50 ms", "2.00 s"]);
        assert_eq!([0.849, 1.0, 12.34, 140.2].map(ratio), ["0.85", "1.00", "12.3", "140"]);
        assert_eq!([length(1024), length(1000), length_html(1 << 20)], ["2^10", "1000", "2<sup>20</sup>"]);
    }
}
