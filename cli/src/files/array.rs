//! Arrays of keys: a .bin has only the keys, a .npy has a header before them.

use super::format::Format;
use super::npy;
use super::source::Source;
use crate::dtype::{Dtype, Key};
use anyhow::{Context, Result, bail};
use bytemuck::Pod;
use std::io::{self, ErrorKind, Read, Write};

/// Bytes that are read or written at a time. Small chunks keep a progress bar moving, and limit the memory for input of unknown length.
const CHUNK_BYTES: usize = 1 << 20;

/// An array whose keys are not read yet.
pub(crate) struct Array {
    pub(super) source: Source,
    pub(crate) dtype: Dtype,
    /// The number of keys that the header declares, if there is a header.
    pub(super) declared: Option<u64>,
    /// Whether the byte order of the keys is the opposite of this machine's.
    pub(super) swapped: bool,
}

impl Array {
    /// Reads the header, if the format has one. `asked` is the dtype that the user chose.
    pub(crate) fn open(mut source: Source, asked: Option<Dtype>) -> Result<Self> {
        let name = &source.name;
        if source.format != Format::Npy {
            let Some(dtype) = asked else {
                bail!("{name} does not specify the type of its keys: add --dtype, such as --dtype u32")
            };
            return Ok(Self { source, dtype, declared: None, swapped: cfg!(target_endian = "big") });
        }
        let header = npy::read_header(&mut source.reader).with_context(|| format!("cannot read {name}"))?;
        let (dtype, declared) = (header.dtype, header.len);
        if let Some(asked) = asked.filter(|asked| *asked != dtype) {
            bail!("{name} holds {}, not {}: leave out --dtype, a .npy specifies its own", dtype.name(), asked.name());
        }
        source.bytes = source.bytes.map(|bytes| bytes.saturating_sub(header.bytes));
        let array = Self { source, dtype, declared: Some(declared), swapped: header.swapped };
        if let Some(bytes) = array.source.bytes {
            array.check_length(bytes)?;
        }
        Ok(array)
    }

    pub(crate) fn name(&self) -> &str {
        &self.source.name
    }

    pub(crate) fn format(&self) -> Format {
        self.source.format
    }

    /// Returns the number of keys, if it is known before they are read.
    pub(crate) fn len(&self) -> Option<u64> {
        self.declared.or(self.source.bytes.map(|bytes| bytes / self.dtype.size() as u64))
    }

    /// Compares the length that the header declares with the number of bytes after the header.
    pub(super) fn check_length(&self, bytes: u64) -> Result<()> {
        let (name, size, dtype) = (self.name(), self.dtype.size(), self.dtype.name());
        let Some(declared) = self.declared else {
            let (keys, rest) = (bytes / size as u64, bytes % size as u64);
            if rest > 0 {
                bail!(
                    "{name} has {bytes} bytes, no multiple of the {size} of a {dtype}: is --dtype {dtype} right? ({keys} keys and {rest} bytes)"
                );
            }
            return Ok(());
        };
        let expected = u128::from(declared) * size as u128;
        if u128::from(bytes) < expected {
            bail!(
                "{name} is cut short: its header declares {declared} keys of {dtype}, {expected} bytes, but {bytes} bytes follow"
            );
        }
        if u128::from(bytes) > expected {
            bail!(
                "{name} goes on after the {declared} keys of its header, and a sort would lose the rest: save each array alone"
            );
        }
        Ok(())
    }

    /// Reads the keys. `K` must be the type of the dtype.
    pub(crate) fn keys<K: Key>(mut self) -> Result<Vec<K>> {
        let declared = self.declared.map_or(usize::MAX, |keys| usize::try_from(keys).unwrap_or(usize::MAX));
        let likely = self.source.bytes.map_or(0, |bytes| usize::try_from(bytes / size_of::<K>() as u64).unwrap_or(usize::MAX));
        let read = read_keys(&mut self.source.reader, likely.min(declared), declared);
        let (mut keys, bytes) = read.with_context(|| format!("cannot read {}", self.name()))?;
        self.check_length(bytes)?;
        if self.swapped {
            swap_bytes(&mut keys);
        }
        Ok(keys)
    }
}

/// Reads up to `most` keys, and returns them and the number of bytes that were read: one byte more than the keys have if more follow.
/// `likely` is the expected number of keys.
fn read_keys<K: Pod>(reader: &mut dyn Read, likely: usize, most: usize) -> io::Result<(Vec<K>, u64)> {
    let size = size_of::<K>();
    let mut keys: Vec<K> = vec![];
    let mut filled = 0;
    // One chunk more than expected, so that finding the end of the input moves no keys to a larger allocation.
    reserve(&mut keys, likely.saturating_add(CHUNK_BYTES / size))?;
    loop {
        if filled == keys.len() * size {
            if keys.len() == most {
                filled += read(reader, &mut [0])?;
                return Ok((keys, filled as u64));
            }
            let len = most.min(keys.len() + CHUNK_BYTES / size);
            let more = len - keys.len();
            reserve(&mut keys, more)?;
            keys.resize(len, K::zeroed());
        }
        match read(reader, &mut bytemuck::cast_slice_mut(&mut keys)[filled..])? {
            0 => break,
            bytes => filled += bytes,
        }
    }
    keys.truncate(filled / size);
    Ok((keys, filled as u64))
}

/// Reads some bytes; none only at the end of the input.
pub(super) fn read(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Makes room for `more` keys.
///
/// # Errors
/// If there is not enough memory.
fn reserve<K>(keys: &mut Vec<K>, more: usize) -> io::Result<()> {
    keys.try_reserve(more).map_err(|_| {
        let bytes = (keys.len() as u128 + more as u128) * size_of::<K>() as u128;
        io::Error::new(
            ErrorKind::OutOfMemory,
            format!("there is not enough memory for {bytes} bytes of keys; sort --memory needs less"),
        )
    })
}

fn swap_bytes<K: Pod>(keys: &mut [K]) {
    for key in keys {
        bytemuck::bytes_of_mut(key).reverse();
    }
}

/// Checks that `format` can hold keys of `dtype`.
pub(crate) fn check_writable(format: Format, dtype: Dtype) -> Result<()> {
    if format == Format::Npy && npy::type_str(dtype).is_none() {
        bail!("a .npy cannot hold {}: numpy has no such type; write a .bin", dtype.name());
    }
    Ok(())
}

/// Writes keys little-endian, after a header if the format has one. A .csv gets one key per line.
///
/// # Panics
/// If the format [cannot hold](check_writable) the dtype.
pub(crate) fn write_array<K: Key>(out: &mut dyn Write, format: Format, dtype: Dtype, keys: &[K]) -> io::Result<()> {
    write_header(out, format, dtype, keys.len() as u64)?;
    write_keys(out, format, keys)
}

/// Writes what comes before `len` keys in a file of this format.
///
/// # Panics
/// If the format [cannot hold](check_writable) the dtype.
pub(crate) fn write_header(out: &mut dyn Write, format: Format, dtype: Dtype, len: u64) -> io::Result<()> {
    match format {
        Format::Npy => npy::write_header(out, dtype, len),
        Format::Bin | Format::Csv => Ok(()),
    }
}

/// Writes some of the keys of a file of this format.
pub(crate) fn write_keys<K: Key>(out: &mut dyn Write, format: Format, keys: &[K]) -> io::Result<()> {
    if format == Format::Csv {
        return keys.iter().try_for_each(|key| writeln!(out, "{key:?}"));
    }
    for chunk in keys.chunks(CHUNK_BYTES / size_of::<K>()) {
        if cfg!(target_endian = "big") {
            let mut chunk = chunk.to_vec();
            swap_bytes(&mut chunk);
            out.write_all(bytemuck::cast_slice(&chunk))?;
        } else {
            out.write_all(bytemuck::cast_slice(chunk))?;
        }
    }
    Ok(())
}
