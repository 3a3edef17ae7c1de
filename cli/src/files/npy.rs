//! The header of a .npy: the dtype and length of an array of keys. Every other array is refused with a reason.
//!
//! ```text
//! \x93NUMPY  version  length    header, `length` bytes: a literal of Python                                keys
//!            1 byte   2 bytes   {'descr': '<f4', 'fortran_order': False, 'shape': (3,), }   \n             …
//!            + 1      4 in versions 2 and 3
//! ```

use crate::dtype::Dtype;
use anyhow::{Context, Result, bail, ensure};
use npyz::{DType, WriteOptions, WriterBuilder};
use py_literal::Value;
use std::io::{self, Read, Write};

const MAGIC: &[u8] = b"\x93NUMPY";

/// The most bytes of a header, by default the most for NumPy, too. The header of an array of keys has about a hundred.
const MAX_HEADER: u32 = 10_000;

/// The most brackets inside one another in a header. An array of keys has two. With each further one, the parser can take three times
/// as long.
const MAX_DEPTH: usize = 5;

/// The most characters of a header that a message quotes.
const QUOTED: usize = 80;

/// numpy's names of the dtypes. It has none for the others.
const NAMES: [(Dtype, &str); 12] = [
    (Dtype::Bool, "b1"),
    (Dtype::U8, "u1"),
    (Dtype::U16, "u2"),
    (Dtype::U32, "u4"),
    (Dtype::U64, "u8"),
    (Dtype::I8, "i1"),
    (Dtype::I16, "i2"),
    (Dtype::I32, "i4"),
    (Dtype::I64, "i8"),
    (Dtype::F16, "f2"),
    (Dtype::F32, "f4"),
    (Dtype::F64, "f8"),
];

/// The contents of a header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) dtype: Dtype,
    /// The number of keys.
    pub(crate) len: u64,
    /// Whether the byte order of the keys is the opposite of this machine's.
    pub(crate) swapped: bool,
    /// The number of bytes before the keys.
    pub(crate) bytes: u64,
}

/// Reads the header of a one-dimensional array of keys.
pub(crate) fn read_header(reader: &mut dyn Read) -> Result<Header> {
    let (text, bytes) = read_text(reader)?;
    let header = parse(&text)?;
    let entry =
        |name: &str| header.iter().find(|(key, _)| key.as_string().is_some_and(|key| key == name)).map(|(_, value)| value);
    let [Some(descr), Some(Value::Boolean(fortran)), Some(Value::Tuple(shape) | Value::List(shape))] =
        ["descr", "fortran_order", "shape"].map(entry)
    else {
        bail!("its header is damaged: it lacks descr, fortran_order or shape, or one of them has the wrong type");
    };
    let (dtype, swapped) = read_descr(descr)?;
    let len = read_shape(shape, *fortran)?;
    Ok(Header { dtype, len, swapped, bytes })
}

/// Reads the bytes up to the keys, and returns the text of the header and the number of bytes.
fn read_text(reader: &mut dyn Read) -> Result<(String, u64)> {
    let mut read = |bytes: u32| -> Result<Vec<u8>> {
        let mut text = vec![];
        (&mut *reader).take(bytes.into()).read_to_end(&mut text)?;
        Ok(text)
    };
    let start = read(8)?;
    ensure!(start.starts_with(MAGIC), "it is no .npy: its first bytes are others");
    let [_, _, _, _, _, _, major, minor] = start[..] else { bail!("it ends before its header does") };
    let length = read(match major {
        1 => 2,
        2 | 3 => 4,
        _ => bail!("it is a .npy of version {major}.{minor}, and only 1, 2 and 3 are known: save it anew with np.save"),
    })?;
    let declared = match length[..] {
        [a, b] if major == 1 => u32::from_le_bytes([a, b, 0, 0]),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
        _ => bail!("it ends before its header does"),
    };
    ensure!(
        declared <= MAX_HEADER,
        "its header declares {declared} bytes, and that of an array of keys has at most {MAX_HEADER}"
    );
    let text = read(declared)?;
    ensure!(text.len() == declared as usize, "it ends before its header does");
    let bytes = (start.len() + length.len() + text.len()) as u64;
    Ok((String::from_utf8(text).context("its header is damaged")?, bytes))
}

/// Parses the header as a dictionary of Python.
fn parse(text: &str) -> Result<Vec<(Value, Value)>> {
    let mut depth = 0_usize;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        ensure!(depth <= MAX_DEPTH, "its header is damaged: it has more than {MAX_DEPTH} brackets inside one another");
    }
    match text.trim_end().parse() {
        Ok(Value::Dict(entries)) => Ok(entries),
        _ => bail!("its header is damaged: it is no dictionary of Python"),
    }
}

/// Returns the dtype of a description such as `'<f4'`, and whether its byte order is the opposite of this machine's.
fn read_descr(descr: &Value) -> Result<(Dtype, bool)> {
    let name = match descr {
        Value::String(name) => name,
        Value::List(_) | Value::Tuple(_) => bail!(
            "its elements are structures, {}, which have no order: save one field alone, as in np.save(name, a['field'])",
            quoted(descr)
        ),
        _ => bail!("its header is damaged: its descr is {}", quoted(descr)),
    };
    let known = name.split_at_checked(1).and_then(|(order, rest)| {
        let (dtype, _) = NAMES.iter().find(|(_, name)| *name == rest)?;
        match (order, dtype.size()) {
            ("<" | ">" | "|" | "=", 1) | ("=", _) => Some((*dtype, false)),
            ("<", _) => Some((*dtype, cfg!(target_endian = "big"))),
            (">", _) => Some((*dtype, cfg!(target_endian = "little"))),
            _ => None,
        }
    });
    known.with_context(|| {
        format!("its elements are {}, which is none of {}", quoted(descr), NAMES.map(|(_, name)| name).join(", "))
    })
}

/// Returns the length of an array of one dimension.
fn read_shape(shape: &[Value], fortran: bool) -> Result<u64> {
    if let [Value::Integer(len)] = shape {
        return match u64::try_from(len.clone()) {
            Ok(len) => Ok(len),
            Err(_) => bail!("its header is damaged: its length is {}, which no array has", quoted(&shape[0])),
        };
    }
    ensure!(shape.iter().all(Value::is_integer), "its header is damaged: its shape is {}", quoted(&Value::Tuple(shape.to_vec())));
    bail!(
        "it has {} dimensions, {}{}, and a sort takes one: save it flattened, as in np.save(name, a.ravel())",
        shape.len(),
        quoted(&Value::Tuple(shape.to_vec())),
        if fortran { " in Fortran order" } else { "" }
    )
}

/// Returns a value as Python writes it, cut if it is long.
fn quoted(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns the description of little-endian keys of `dtype`; none if numpy has no such type.
pub(crate) fn type_str(dtype: Dtype) -> Option<String> {
    let (_, name) = NAMES.iter().find(|(known, _)| *known == dtype)?;
    let order = if dtype.size() == 1 { '|' } else { '<' };
    Some(format!("{order}{name}"))
}

/// Writes the header of `len` keys.
///
/// # Panics
/// If numpy has no such dtype.
pub(crate) fn write_header(out: &mut dyn Write, dtype: Dtype, len: u64) -> io::Result<()> {
    let name = type_str(dtype).expect("the caller checked the dtype");
    let dtype = DType::Plain(name.parse().expect("the names are numpy's"));
    WriteOptions::new_header_only().dtype(dtype).shape(&[len]).writer(out).write_header_only()?;
    Ok(())
}
