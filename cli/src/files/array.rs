//! Arrays: keys one after another, in a .bin alone, in a .npy after a header.

use super::{Format, Source, npy};
use crate::dtype::{Dtype, Key};
use anyhow::{Context, Result, bail};
use bytemuck::Pod;
use std::io::{self, ErrorKind, Read, Write};

/// Bytes that are read or written at a time, so that a bar moves and a header that lies costs no memory.
const CHUNK_BYTES: usize = 1 << 20;

/// An array whose keys are still to be read.
pub(crate) struct Array {
    source: Source,
    pub(crate) dtype: Dtype,
    /// The keys that the header promises, if there is a header.
    promised: Option<u64>,
    /// Whether the bytes of each key are in the other order than this machine's.
    swapped: bool,
}

impl Array {
    /// Reads the header, if the format has one, and knows the dtype from it, else from the user.
    pub(crate) fn open(mut source: Source, asked: Option<Dtype>) -> Result<Self> {
        let name = &source.name;
        if source.format != Format::Npy {
            let Some(dtype) = asked else { bail!("{name} does not tell the type of its keys: add --dtype, such as --dtype u32") };
            return Ok(Self { source, dtype, promised: None, swapped: cfg!(target_endian = "big") });
        }
        let header = npy::read_header(&mut source.reader).with_context(|| format!("cannot read {name}"))?;
        match asked {
            Some(asked) if asked != header.dtype => {
                bail!("{name} holds {}, not {}: leave out --dtype, a .npy tells its own", header.dtype.name(), asked.name())
            }
            _ => Ok(Self { source, dtype: header.dtype, promised: Some(header.len), swapped: header.swapped }),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.source.name
    }

    pub(crate) fn format(&self) -> Format {
        self.source.format
    }

    /// The keys. `K` is the type of the dtype.
    pub(crate) fn keys<K: Key>(self) -> Result<Vec<K>> {
        let Source { name, mut reader, bytes, .. } = self.source;
        let (size, dtype) = (size_of::<K>(), self.dtype.name());
        let likely = bytes.map_or(0, |bytes| bytes / size as u64).min(self.promised.unwrap_or(u64::MAX));
        let read = read_keys(&mut reader, likely, self.promised);
        let (mut keys, rest) = read.with_context(|| format!("cannot read {name}"))?;
        let got = keys.len() * size + rest;
        match self.promised {
            None if rest > 0 => bail!(
                "{name} has {got} bytes, no multiple of the {size} of a {dtype}: is --dtype {dtype} right? ({} keys and {rest} bytes)",
                keys.len()
            ),
            Some(promised) if promised > keys.len() as u64 => bail!(
                "{name} is cut short: its header promises {promised} keys of {dtype}, {} bytes, but {got} bytes follow",
                u128::from(promised) * size as u128
            ),
            Some(promised) if reader.read(&mut [0]).with_context(|| format!("cannot read {name}"))? > 0 => {
                bail!("{name} goes on after the {promised} keys of its header, which a sort would lose: save each array alone")
            }
            _ => {}
        }
        if self.swapped {
            swap_bytes(&mut keys);
        }
        Ok(keys)
    }
}

/// Reads keys to the end of `reader`, or `most` of them, and gives them and the number of bytes after the last whole one.
fn read_keys<K: Pod>(reader: &mut dyn Read, likely: u64, most: Option<u64>) -> io::Result<(Vec<K>, usize)> {
    let size = size_of::<K>();
    let most = most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let mut keys: Vec<K> = vec![];
    // Without this much memory at once, reading fails where it is really needed.
    keys.try_reserve_exact(usize::try_from(likely).unwrap_or(0)).ok();
    let mut filled = 0;
    loop {
        if filled == keys.len() * size {
            if keys.len() == most {
                break;
            }
            keys.resize(most.min(keys.len() + CHUNK_BYTES / size), K::zeroed());
        }
        match reader.read(&mut bytemuck::cast_slice_mut(&mut keys)[filled..]) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    keys.truncate(filled / size);
    Ok((keys, filled % size))
}

fn swap_bytes<K: Pod>(keys: &mut [K]) {
    for key in keys {
        bytemuck::bytes_of_mut(key).reverse();
    }
}

/// Whether keys of `dtype` can be written in `format`.
pub(crate) fn check_writable(format: Format, dtype: Dtype) -> Result<()> {
    if format == Format::Npy && npy::type_str(dtype).is_none() {
        bail!("a .npy cannot hold {}: numpy has no such type; write a .bin", dtype.name());
    }
    Ok(())
}

/// Writes keys little-endian, after a header if the format has one; as .csv, one key a line.
///
/// # Panics
/// If the format [cannot hold](check_writable) the dtype.
pub(crate) fn write_array<K: Key>(out: &mut dyn Write, format: Format, dtype: Dtype, keys: &[K]) -> io::Result<()> {
    match format {
        Format::Csv => keys.iter().try_for_each(|key| writeln!(out, "{key:?}")),
        Format::Bin => write_keys(out, keys),
        Format::Npy => {
            npy::write_header(out, dtype, keys.len())?;
            write_keys(out, keys)
        }
    }
}

fn write_keys<K: Pod>(out: &mut dyn Write, keys: &[K]) -> io::Result<()> {
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
