//! [`Fixed`]: records of constant size.

use crate::ExternalError;
use crate::budget::Budget;
use crate::kind::{Kind, Part};
use crate::layout::Layout;
use bytemuck::Pod;
use polysort_core::{Backend, Error, Options, Spec};
use polysort_rayon::RayonBackend;
use std::io::{self, ErrorKind, Read, Write};

/// Records of a [`Layout`], and the options to sort them by.
pub(crate) struct Fixed<'l, L> {
    pub(crate) layout: &'l L,
    pub(crate) merger: &'l RayonBackend,
    pub(crate) options: Options,
    pub(crate) spec: Spec,
    pub(crate) budget: Budget,
}

/// Records in memory that may have more room.
pub(crate) struct Stretch<R> {
    room: Vec<R>,
    len: usize,
}

impl<R> Default for Stretch<R> {
    fn default() -> Self {
        Self { room: vec![], len: 0 }
    }
}

impl<R: Pod> Stretch<R> {
    fn records(&self) -> &[R] {
        &self.room[..self.len]
    }

    /// Makes the length `len`. New records are of any content.
    fn resize(&mut self, len: usize) -> &mut [R] {
        if self.room.is_empty() {
            // Fresh memory that is zero already: pages that a short input does not fill are never touched.
            self.room = bytemuck::zeroed_vec(len);
        } else if self.room.len() < len {
            self.room.resize(len, R::zeroed());
        }
        self.len = len;
        &mut self.room[..len]
    }

    /// Fills `self` with up to `len` records of `input`. Returns whether the input has ended.
    pub(crate) fn fill(&mut self, input: &mut impl Read, len: usize) -> Result<bool, ExternalError> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(self.resize(len));
        let mut filled = 0;
        while filled < bytes.len() {
            match input.read(&mut bytes[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(ExternalError::Input(error)),
            }
        }
        let (whole, left) = (filled / size_of::<R>(), filled % size_of::<R>());
        if left != 0 {
            return Err(ExternalError::PartialRecord { left, record: size_of::<R>() });
        }
        self.len = whole;
        Ok(whole < len)
    }
}

impl<L: Layout> Kind for Fixed<'_, L> {
    type Records = Stretch<L::Record>;

    fn len(&self, records: &Self::Records) -> usize {
        records.len
    }

    fn clear(&self, records: &mut Self::Records) {
        records.len = 0;
    }

    fn rank(&self, records: &Self::Records, at: usize) -> u128 {
        self.layout.rank(&records.records()[at], self.spec)
    }

    fn sort(&self, backend: &impl Backend, records: &mut Self::Records) -> Result<(), Error> {
        let len = records.len;
        self.layout.sort(backend, &mut records.room[..len], self.options)
    }

    fn is_full(&self, merged: &Self::Records) -> bool {
        merged.len == self.budget.output
    }

    fn merge(&self, parts: &[Part<'_, Self::Records>], merged: &mut Self::Records) -> Result<Vec<usize>, Error> {
        let parts: Vec<&[L::Record]> = parts.iter().map(|(records, range)| &records.records()[range.clone()]).collect();
        let begin = merged.len;
        let len = parts.iter().map(|part| part.len()).sum::<usize>().min(self.budget.output - begin);
        merged.resize(self.budget.output);
        merged.len = begin + len;
        self.layout.merge(self.merger, &parts, &mut merged.room[begin..begin + len], self.options)
    }

    fn store(
        &self,
        records: &Self::Records,
        append: &mut dyn FnMut(&[u8]) -> Result<(), ExternalError>,
    ) -> Result<(), ExternalError> {
        records.records().chunks(self.budget.block).try_for_each(|block| append(bytemuck::cast_slice(block)))
    }

    fn load(
        &self,
        bytes: usize,
        read: &mut dyn FnMut(&mut [u8]) -> Result<(), ExternalError>,
        records: &mut Self::Records,
    ) -> Result<(), ExternalError> {
        read(bytemuck::cast_slice_mut(records.resize(bytes / size_of::<L::Record>())))
    }

    fn place(&self, _: usize, _: &mut Self::Records) {}

    fn write(&self, records: &Self::Records, output: &mut dyn Write) -> io::Result<()> {
        output.write_all(bytemuck::cast_slice(records.records()))
    }
}
