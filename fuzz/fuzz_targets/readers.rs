//! The readers of the command line: arrays (.npy and .bin) and tables (.csv), whole and as streams.
//!
//! The program is no library, so this target compiles the modules of its readers. What they print on a terminal is left out.
#![no_main]
#![allow(dead_code, unused_imports, reason = "the modules have parts that only the program uses")]

#[macro_use]
#[path = "../../cli/src/dtype.rs"]
mod dtype;
#[path = "../../cli/src/files/mod.rs"]
mod files;

/// The notes of the program, which are lost.
mod message {
    pub(crate) fn note(_: &str) {}
}

/// The progress bars of the program, which are not shown.
mod progress {
    pub(crate) struct Bar;

    impl Bar {
        pub(crate) fn wrap_read<R>(&self, reader: R) -> R {
            reader
        }
    }

    pub(crate) fn bytes(_: &str, _: Option<u64>) -> Bar {
        Bar
    }
}

/// Standard input, which no target reads.
mod standard {
    pub(crate) fn stdin() -> anyhow::Result<std::io::Stdin> {
        anyhow::bail!("no target reads standard input")
    }
}

use arbitrary::Arbitrary;
use clap::{Parser, ValueEnum};
use core::str::FromStr;
use csv::ReaderBuilder;
use dtype::{Dtype, Key, with_key};
use files::{Array, Choice as ChosenType, ColumnArgs, Format, KeyStream, RowStream, Source, Table, write_array};
use libfuzzer_sys::fuzz_target;
use polysort_fuzz::{Choice, Len, Slow};
use std::io::{self, Read};

#[derive(Debug, Arbitrary)]
struct Input {
    file: File,
    /// The bytes that a read returns, at most, which repeat.
    reads: Vec<u16>,
    has_length: bool,
}

#[derive(Debug, Arbitrary)]
enum File {
    /// A .bin of a type of keys.
    Bin(Choice, Vec<u8>),
    /// A .npy as it comes.
    Npy(Option<Choice>, Vec<u8>),
    /// A .npy whose header has these parts.
    Header {
        version: u8,
        parts: Vec<Part>,
        declared: Option<u32>,
        keys: Vec<u8>,
    },
    /// What the program itself writes.
    Written(Choice, Vec<u8>),
    Table {
        tokens: Vec<Token>,
        times: Len,
        end: Vec<Token>,
        arguments: Arguments,
    },
}

/// Parts of the header of a .npy.
#[derive(Debug, Arbitrary)]
enum Part {
    Start,
    Descr(Choice, Choice),
    Order(bool),
    Shape(u32),
    Shapes(Vec<i64>),
    End,
    Text(String),
    Spaces(u8),
    Brackets(u8),
}

impl Part {
    fn text(&self) -> String {
        match self {
            Self::Start => "{".into(),
            Self::Descr(order, name) => {
                let (order, name) =
                    (order.of(&["<", ">", "|", "=", "!"]), name.of(&["u4", "f4", "i8", "b1", "u1", "f2", "i2", "f8"]));
                format!("'descr': '{order}{name}', ")
            }
            Self::Order(fortran) => format!("'fortran_order': {}, ", if *fortran { "True" } else { "False" }),
            Self::Shape(len) => format!("'shape': ({len},), "),
            Self::Shapes(lens) => format!("'shape': {lens:?}, "),
            Self::End => "}\n".into(),
            Self::Text(text) => text.clone(),
            Self::Spaces(count) => " ".repeat((*count).into()),
            Self::Brackets(count) => "(".repeat((*count).into()),
        }
    }
}

/// Parts of the text of a table.
#[derive(Clone, Copy, Debug, Arbitrary)]
enum Token {
    Comma,
    Line,
    CarriageReturn,
    Both,
    Quote,
    Space,
    Digit(u8),
    Number(i32),
    Long(i128),
    Float(f32),
    Letter(char),
    Mark,
    Byte(u8),
}

impl Token {
    fn push(self, text: &mut Vec<u8>) {
        let mut push = |part: &str| text.extend_from_slice(part.as_bytes());
        match self {
            Self::Comma => push(","),
            Self::Line => push("\n"),
            Self::CarriageReturn => push("\r"),
            Self::Both => push("\r\n"),
            Self::Quote => push("\""),
            Self::Space => push(" "),
            Self::Digit(digit) => push(&(digit % 10).to_string()),
            Self::Number(number) => push(&number.to_string()),
            Self::Long(number) => push(&number.to_string()),
            Self::Float(number) => push(&number.to_string()),
            Self::Letter(letter) => push(letter.encode_utf8(&mut [0; 4])),
            Self::Mark => push("\u{feff}"),
            Self::Byte(byte) => text.push(byte),
        }
    }
}

/// The arguments of the program for a table.
#[derive(Debug, Arbitrary)]
struct Arguments {
    column: Option<u8>,
    has_header: bool,
    dtype: Option<Choice>,
    takes_empty: bool,
}

#[derive(Parser)]
struct Parsed {
    #[command(flatten)]
    columns: ColumnArgs,
}

impl Arguments {
    fn parse(&self) -> ColumnArgs {
        let mut arguments = vec!["polysort".to_string()];
        arguments.extend(self.column.map(|column| format!("--column={column}")));
        arguments.extend((!self.has_header).then(|| "--no-header".into()));
        arguments.extend(self.dtype.map(|dtype| format!("--dtype={}", dtype.of(Dtype::value_variants()).name())));
        arguments.extend(self.takes_empty.then(|| "--empty=nan".into()));
        Parsed::try_parse_from(arguments).unwrap_or_else(|error| panic!("{error}")).columns
    }
}

impl Input {
    fn source(&self, format: Format, bytes: &[u8]) -> Source {
        let reader = Slow::new(io::Cursor::new(bytes.to_vec()), self.reads.clone());
        let bytes = self.has_length.then_some(bytes.len() as u64);
        Source { name: "fuzz".into(), format, reader: Box::new(reader), bytes }
    }
}

fuzz_target!(|input: Input| match &input.file {
    File::Bin(dtype, bytes) => {
        let dtype = dtype.of(Dtype::value_variants());
        let read = array(&input, Format::Bin, bytes, Some(dtype));
        let is_whole = bytes.len().is_multiple_of(dtype.size());
        assert_eq!(read.as_deref(), is_whole.then_some(&bytes[..]), "{} bytes of {dtype:?}", bytes.len());
    }
    File::Npy(dtype, bytes) => {
        let read = array(&input, Format::Npy, bytes, dtype.map(|dtype| dtype.of(Dtype::value_variants())));
        ends_with(bytes, read);
    }
    File::Header { version, parts, declared, keys } => {
        let text: String = parts.iter().map(Part::text).collect();
        let len = declared.unwrap_or(text.len() as u32).to_le_bytes();
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([*version, 0]);
        bytes.extend_from_slice(if *version == 1 { &len[..2] } else { &len });
        bytes.extend_from_slice(text.as_bytes());
        bytes.extend_from_slice(keys);
        let read = array(&input, Format::Npy, &bytes, None);
        ends_with(&bytes, read);
    }
    File::Written(dtype, bytes) => {
        let dtype = dtype.of(Dtype::value_variants());
        let is_known = !matches!(dtype, Dtype::U128 | Dtype::I128 | Dtype::Bf16);
        assert_eq!(files::check_writable(Format::Npy, dtype).is_ok(), is_known, "{dtype:?}");
        if is_known {
            let (mut file, keys) = (vec![], &bytes[..bytes.len() - bytes.len() % dtype.size()]);
            let written =
                with_key!(dtype, K => write_array::<K>(&mut file, Format::Npy, dtype, &bytemuck::pod_collect_to_vec(keys)));
            written.expect("memory takes every file");
            assert_eq!(array(&input, Format::Npy, &file, Some(dtype)).as_deref(), Some(keys));
        }
    }
    File::Table { tokens, times, end, arguments } => {
        let mut text = vec![];
        // A stream reads 16 KiB at a time, at least.
        for _ in 0..times.0.clamp(1, 4000) {
            tokens.iter().for_each(|token| token.push(&mut text));
            if text.len() > 100_000 {
                break;
            }
        }
        end.iter().for_each(|token| token.push(&mut text));
        table(&input, &text, &arguments.parse());
    }
});

/// Checks that the keys are the last bytes of a file, in one of the two byte orders.
fn ends_with(bytes: &[u8], read: Option<Vec<u8>>) {
    let Some(mut keys) = read else { return };
    let end = &bytes[bytes.len() - keys.len()..];
    if keys != end {
        let sizes = [2, 4, 8];
        let is_swapped = sizes.into_iter().any(|size| {
            let mut swapped = end.to_vec();
            swapped.chunks_exact_mut(size).for_each(<[u8]>::reverse);
            swapped == keys
        });
        keys.truncate(32);
        assert!(is_swapped, "{keys:?} … are not the end of the file");
    }
}

/// Reads an array whole and as a stream, which must agree. Returns the bytes of its keys, if it is one.
fn array(input: &Input, format: Format, bytes: &[u8], dtype: Option<Dtype>) -> Option<Vec<u8>> {
    let open = || Array::open(input.source(format, bytes), dtype);
    let whole = open().and_then(|array| {
        let dtype = array.dtype;
        with_key!(dtype, K => Ok(bytemuck::cast_slice::<K, u8>(&array.keys::<K>()?).to_vec()))
    });
    let streamed = open().and_then(|array| {
        let (mut keys, mut stream) = (vec![], KeyStream::new(array));
        stream.read_to_end(&mut keys)?;
        Ok(keys)
    });
    match (whole, streamed) {
        (Ok(whole), Ok(streamed)) => {
            assert!(whole == streamed, "a stream has other keys than the array");
            Some(whole)
        }
        (Err(_), Err(_)) => None,
        (whole, streamed) => panic!("whole: {:?}, as a stream: {:?}", whole.map(drop), streamed.map(drop)),
    }
}

/// A table: the type of its keys, their bytes, and its text as it is written again.
type Read3 = (Dtype, Vec<u8>, Vec<u8>);

/// Reads a table whole and as a stream, which must agree, and compares both with the csv crate.
fn table(input: &Input, text: &[u8], arguments: &ColumnArgs) {
    let arguments = arguments.table();
    let whole = Table::read(input.source(Format::Csv, text), &arguments).and_then(|table| {
        let (dtype, mut written) = (table.dtype, vec![]);
        let order: Vec<u32> = (0..table.len() as u32).collect();
        table.write(&mut written, &order)?;
        let keys = with_key!(dtype, K => bytemuck::cast_slice::<K, u8>(&table.keys::<K>()?).to_vec());
        Ok((dtype, keys, written))
    });
    let open = || RowStream::open(input.source(Format::Csv, text), &arguments, usize::MAX >> 1);
    let streamed = open().and_then(|rows| {
        let dtype = rows.choose(&mut ChosenType::new(&arguments))?;
        let (mut rows, mut keys) = (open()?, vec![]);
        let mut written = rows.head().to_vec();
        with_key!(dtype, K => while let Some(key) = rows.next::<K>(dtype, &mut written)? {
            keys.extend_from_slice(bytemuck::bytes_of(&key));
        });
        Ok((dtype, keys, written))
    });
    match (whole, streamed) {
        (Ok(whole), Ok(streamed)) => {
            assert!(whole == streamed, "whole: {whole:?}, as a stream: {streamed:?}");
            like_csv(text, &whole, arguments.header, arguments.column);
        }
        (Err(_), Err(_)) => {}
        (whole, streamed) => panic!("whole: {whole:?}, as a stream: {streamed:?}"),
    }
}

/// Compares the keys of a table of several columns with the fields that the csv crate finds. (In a table of one column, a blank line is a row.)
fn like_csv(text: &[u8], (dtype, keys, _): &Read3, has_header: bool, column: Option<&str>) {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text);
    let records: Vec<_> = reader.into_byte_records().map(|record| record.expect("bytes are read")).collect();
    let Some(first) = records.first().filter(|first| first.len() > 1) else { return };
    let asked = column.expect("a table of several columns needs the argument");
    let named = first.iter().position(|name| has_header && String::from_utf8_lossy(name).trim() == asked);
    let index = named.unwrap_or_else(|| asked.parse().expect("an index"));
    let fields =
        records.iter().skip(has_header.into()).map(|record| String::from_utf8_lossy(record[index].trim_ascii()).into_owned());
    let expected = with_key!(*dtype, K => parsed::<K>(fields));
    assert!(expected == *keys, "{keys:?} of {dtype:?}, expected {expected:?}");
}

/// Returns the bytes of the keys that fields stand for. An empty field is not a number.
fn parsed<K: Key>(fields: impl Iterator<Item = String>) -> Vec<u8> {
    let key = |field: String| match (K::from_str(&field), K::NAN) {
        (Ok(key), _) => key,
        (Err(_), Some(nan)) if field.is_empty() => nan,
        _ => panic!("{field:?} was read as a {}", core::any::type_name::<K>()),
    };
    bytemuck::cast_slice(&fields.map(key).collect::<Vec<K>>()).to_vec()
}
