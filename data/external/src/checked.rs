//! [`Checked`]: a check that an input of a merge is sorted.

use crate::ExternalError;
use crate::kind::Kind;

/// What has been read of an input.
#[derive(Default)]
pub(crate) struct Checked {
    records: u64,
    /// What the last record is sorted by.
    last: u128,
}

impl Checked {
    /// Checks the next records of the input with the number `input`.
    pub(crate) fn check<K: Kind>(&mut self, kind: &K, input: usize, records: &K::Records) -> Result<(), ExternalError> {
        let mut last = self.last;
        for at in 0..kind.len(records) {
            let rank = kind.rank(records, at);
            if rank < last {
                return Err(ExternalError::Unsorted { input, record: self.records + at as u64 });
            }
            last = rank;
        }
        self.records += kind.len(records) as u64;
        self.last = last;
        Ok(())
    }
}
