//! What `--by` says: the columns to sort by, each with its order.

use anyhow::{Result, bail};
use arrow_schema::{Schema, SortOptions};
use core::str::FromStr;
use polysort_arrow::SortBy;

/// The most columns that a message lists.
const LISTED_COLUMNS: usize = 20;

/// Columns to sort by, the most significant one first, as the command line writes them: `pickup desc nulls last, fare`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order(Vec<(String, SortOptions)>);

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut order = vec![];
        let mut rest = text;
        loop {
            let (name, after) = name(rest.trim_start())?;
            let (words, next) = after.split_once(',').map_or((after, None), |(words, next)| (words, Some(next)));
            let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
            let mut words = words.iter().map(String::as_str).peekable();
            let descending = words.next_if(|word| ["asc", "desc"].contains(word)) == Some("desc");
            let nulls_first = match (words.next(), words.next(), words.next()) {
                (None, ..) => false,
                (Some("nulls"), Some("first"), None) => true,
                (Some("nulls"), Some("last"), None) => false,
                (Some(word), ..) => {
                    return Err(format!("after a column comes asc or desc, then nulls first or nulls last, and not {word:?}"));
                }
            };
            order.push((name, SortOptions { descending, nulls_first }));
            match next {
                Some(next) => rest = next,
                None => return Ok(Self(order)),
            }
        }
    }
}

/// Splits a name off: a word, or any text in quotes, in which two quotes stand for one.
fn name(text: &str) -> Result<(String, &str), String> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(|char: char| char.is_whitespace() || char == ',').unwrap_or(text.len());
        return match end {
            0 => Err("a column is missing: name them as in \"pickup desc nulls last, fare\"".into()),
            _ => Ok((text[..end].into(), &text[end..])),
        };
    };
    let (mut name, mut rest) = (String::new(), quoted);
    loop {
        let Some((part, after)) = rest.split_once('"') else { return Err("a quote is not closed".into()) };
        name.push_str(part);
        match after.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                rest = after;
            }
            None => return Ok((name, after)),
        }
    }
}

impl Order {
    /// Finds the columns in a schema.
    pub(super) fn columns(&self, schema: &Schema) -> Result<Vec<SortBy>> {
        let column = |(name, options): &(String, SortOptions)| {
            let named: Vec<usize> =
                schema.fields().iter().enumerate().filter(|(_, field)| field.name() == name).map(|(index, _)| index).collect();
            let names = || {
                let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).take(LISTED_COLUMNS).collect();
                let others = schema.fields().len().saturating_sub(LISTED_COLUMNS);
                if others > 0 { format!("{} and {others} more", names.join(", ")) } else { names.join(", ") }
            };
            match named[..] {
                [column] => Ok(SortBy { column, options: *options }),
                [] => bail!("there is no column {name}; it has {}", names()),
                _ => bail!("{} columns are called {name}, so --by cannot name one of them: rename the others", named.len()),
            }
        };
        self.0.iter().map(column).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_an_order_each() {
        let order = |text: &str| text.parse::<Order>().map(|order| order.0);
        let column = |name: &str, descending, nulls_first| (name.to_string(), SortOptions { descending, nulls_first });
        assert_eq!(order("fare"), Ok(vec![column("fare", false, false)]));
        assert_eq!(
            order("pickup DESC nulls last,fare , \"a, \"\"b\"\"\" asc Nulls First"),
            Ok(vec![column("pickup", true, false), column("fare", false, false), column("a, \"b\"", false, true)])
        );
        assert_eq!(order("desc desc"), Ok(vec![column("desc", true, false)]));
        for wrong in ["", "a,", ",a", "a down", "a nulls", "a nulls last first", "a desc asc", "\"a", "a nulls middle"] {
            assert!(order(wrong).is_err(), "{wrong}");
        }
    }
}
