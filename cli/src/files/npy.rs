//! The header of a .npy: its dtype and length, and refusals of the arrays that have no order.

use crate::dtype::Dtype;
use anyhow::{Result, anyhow, bail};
use npyz::{DType, Endianness, NpyHeader, Order, TypeStr, WriteOptions, WriterBuilder};
use std::io::{self, ErrorKind, Read, Write};

/// numpy's names of the dtypes; it has none for the others.
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

/// What a header says.
pub(crate) struct Header {
    pub(crate) dtype: Dtype,
    pub(crate) len: u64,
    /// Whether the keys' bytes are in the other order than this machine's.
    pub(crate) swapped: bool,
}

/// Reads the header of a one-dimensional array of keys.
pub(crate) fn read_header(reader: &mut dyn Read) -> Result<Header> {
    let header = NpyHeader::from_reader(reader).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => anyhow!("it ends before its header does"),
        ErrorKind::InvalidData => anyhow!("it is no .npy, or its header is damaged"),
        _ => error.into(),
    })?;
    let DType::Plain(type_str) = header.dtype() else {
        bail!("its elements are structures, {}, which have no order: save one field alone, as in np.save(name, a['field'])", {
            header.dtype().descr()
        });
    };
    let [len] = header.shape()[..] else {
        let shape: Vec<String> = header.shape().iter().map(u64::to_string).collect();
        let layout = if header.order() == Order::Fortran { " in Fortran order" } else { "" };
        bail!(
            "it has {} dimensions, ({}){layout}, and a sort takes one: save it flattened, as in np.save(name, a.ravel())",
            shape.len(),
            shape.join(", ")
        );
    };
    let name = type_str.to_string();
    let Some((dtype, _)) = NAMES.iter().find(|(_, known)| name[1..] == **known) else {
        bail!("its elements are {name}, which is none of {}", NAMES.map(|(_, name)| name).join(", "));
    };
    let here = Endianness::of_machine();
    Ok(Header { dtype: *dtype, len, swapped: ![here, Endianness::Irrelevant].contains(&type_str.endianness()) })
}

/// How a header names little-endian keys of `dtype`, if numpy has such a type.
pub(crate) fn type_str(dtype: Dtype) -> Option<TypeStr> {
    let (_, name) = NAMES.iter().find(|(known, _)| *known == dtype)?;
    let endian = if dtype.size() == 1 { '|' } else { '<' };
    Some(format!("{endian}{name}").parse().expect("the names are numpy's"))
}

/// Writes the header of `len` keys.
///
/// # Panics
/// If numpy has no such dtype.
pub(crate) fn write_header(out: &mut dyn Write, dtype: Dtype, len: usize) -> io::Result<()> {
    let dtype = DType::Plain(type_str(dtype).expect("checked before anything was sorted"));
    WriteOptions::new_header_only().dtype(dtype).shape(&[len as u64]).writer(out).write_header_only()?;
    Ok(())
}
