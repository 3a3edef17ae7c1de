//! `Slow`: a stream that returns few bytes at a time.

use std::io::{self, Read};

/// Reads from another stream. Each read returns at most as many bytes as one of `reads` says, plus one; without `reads`, as many as there are.
#[derive(Debug)]
pub struct Slow<R, L> {
    stream: R,
    reads: L,
    at: usize,
}

impl<R: Read, L: AsRef<[u16]>> Slow<R, L> {
    /// Begins with the first of `reads`, and begins again after the last.
    pub fn new(stream: R, reads: L) -> Self {
        Self { stream, reads, at: 0 }
    }
}

impl<R: Read, L: AsRef<[u16]>> Read for Slow<R, L> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let reads = self.reads.as_ref();
        let most = reads.get(self.at % reads.len().max(1)).map_or(usize::MAX, |&most| usize::from(most) + 1);
        self.at += 1;
        let most = most.min(bytes.len());
        self.stream.read(&mut bytes[..most])
    }
}
