//! A spill file: sorted runs one after another, each in blocks.

use crate::ExternalError;
use crate::files::Files;
use crate::kind::Kind;
use std::io;

/// A part of a run that is read at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    offset: u64,
    /// Bytes in the file. If they are as many as the block has, it is not compressed.
    stored: usize,
    /// Bytes of the block.
    bytes: usize,
}

/// A spill file that grows at its end.
pub(crate) struct Spill<'f, F: Files> {
    files: &'f F,
    file: F::File,
    end: u64,
    #[cfg_attr(not(feature = "lz4"), expect(dead_code, reason = "only lz4 compresses"))]
    compress: bool,
    runs: Vec<Vec<Block>>,
    packed: Vec<u8>,
}

impl<'f, F: Files> Spill<'f, F> {
    /// An empty file.
    pub(crate) fn create(files: &'f F, compress: bool) -> Result<Self, ExternalError> {
        let file = files.create().map_err(|source| failed(files, "created", source))?;
        Ok(Self { files, file, end: 0, compress, runs: vec![], packed: vec![] })
    }

    /// Starts a run.
    pub(crate) fn begin_run(&mut self) {
        self.runs.push(vec![]);
    }

    /// Appends records to the last run.
    pub(crate) fn append<K: Kind>(&mut self, kind: &K, records: &K::Records) -> Result<(), ExternalError> {
        kind.store(records, &mut |block| self.append_block(block))
    }

    /// Appends a block to the last run.
    fn append_block(&mut self, raw: &[u8]) -> Result<(), ExternalError> {
        let stored = self.pack(raw);
        self.files
            .append(&mut self.file, stored.map_or(raw, |len| &self.packed[..len]))
            .map_err(|error| failed(self.files, "written", error))?;
        let block = Block { offset: self.end, stored: stored.unwrap_or(raw.len()), bytes: raw.len() };
        self.end += block.stored as u64;
        self.runs.last_mut().expect("a run has begun").push(block);
        Ok(())
    }

    /// Replaces `records` by those of a block.
    pub(crate) fn read<K: Kind>(&mut self, kind: &K, block: Block, records: &mut K::Records) -> Result<(), ExternalError> {
        kind.load(block.bytes, &mut |raw| self.read_block(block, raw), records)
    }

    /// Reads the bytes of a block.
    fn read_block(&mut self, block: Block, raw: &mut [u8]) -> Result<(), ExternalError> {
        let read = if block.stored == raw.len() {
            self.files.read(&mut self.file, block.offset, raw)
        } else {
            self.packed.resize(block.stored.max(self.packed.len()), 0);
            let packed = &mut self.packed[..block.stored];
            self.files.read(&mut self.file, block.offset, packed).and_then(|()| unpack(packed, raw))
        };
        read.map_err(|error| failed(self.files, "read", error))
    }

    /// The blocks of each run.
    pub(crate) fn runs(&self) -> &[Vec<Block>] {
        &self.runs
    }

    /// Bytes of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.end
    }

    /// Compresses a block. Returns its size, or `None` if the block is to be stored as it is.
    #[cfg(feature = "lz4")]
    fn pack(&mut self, raw: &[u8]) -> Option<usize> {
        if !self.compress {
            return None;
        }
        self.packed.resize(lz4_flex::block::get_maximum_output_size(raw.len()), 0);
        lz4_flex::block::compress_into(raw, &mut self.packed).ok().filter(|&len| len < raw.len())
    }

    #[cfg(not(feature = "lz4"))]
    fn pack(&mut self, _: &[u8]) -> Option<usize> {
        None
    }
}

#[cfg(feature = "lz4")]
fn unpack(packed: &[u8], raw: &mut [u8]) -> io::Result<()> {
    match lz4_flex::block::decompress_into(packed, raw) {
        Ok(len) if len == raw.len() => Ok(()),
        Ok(len) => Err(io::Error::new(io::ErrorKind::InvalidData, format!("a block has {len} bytes instead of {}", raw.len()))),
        Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
    }
}

#[cfg(not(feature = "lz4"))]
fn unpack(_: &[u8], _: &mut [u8]) -> io::Result<()> {
    unreachable!("no block is compressed without the feature lz4")
}

fn failed(files: &impl Files, what: &'static str, source: io::Error) -> ExternalError {
    ExternalError::Spill { folder: files.folder(), what, source }
}
