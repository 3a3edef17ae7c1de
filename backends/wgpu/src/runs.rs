//! Runs of equal keys in a slice of the host.

use crate::backend::WgpuBackend;
use crate::call::Call;
use crate::engine::{Engine, PASS};
use crate::launch::Count;
use crate::wait::Waiting;
use crate::workspace::{Bindable, Staging};
use polysort_core::{Error, Operation, Spec, Word};
use polysort_shaders::plan::{Buffer as Role, FindRuns, Place, Request};
use std::sync::Arc;
use wgpu::{Buffer, CommandEncoder};

/// The runs that a device has found. Outputs that the request leaves out are empty.
#[derive(Default)]
pub(crate) struct FoundRuns {
    /// The number of runs.
    pub(crate) count: usize,
    /// The first keys.
    pub(crate) unique: Vec<u8>,
    /// The offsets of the runs, and the number of keys.
    pub(crate) offsets: Vec<u32>,
    /// The lengths of the runs.
    pub(crate) lengths: Vec<u32>,
}

impl Engine {
    /// Finds the runs of `count` keys of the host, without a self-test. `request.max` is at least `count`.
    pub(crate) async fn runs_untested(
        self: &Arc<Self>,
        waiting: Waiting,
        (request, native): Bindable,
        keys: &[u8],
        count: usize,
    ) -> Result<FoundRuns, Error> {
        let sort = (self.rounded(request), native);
        let Some(FindRuns { unique, offsets, lengths, .. }) = request.runs else { return Ok(FoundRuns::default()) };
        let outputs = [(unique.is_some(), keys.len()), (offsets.is_some(), 4 * (count + 1)), (lengths.is_some(), 4 * count)];
        let most = outputs.map(|(is_wanted, bytes)| if is_wanted { bytes } else { 0 });
        let mut call = Call::begin(self, waiting, Some(sort), &[], Staging { up: &[keys.len()], down: &most }).await?;
        let launches = call.launches(sort).await?;
        if !keys.is_empty() {
            call.upload(&keys.into(), Role::Keys).await?;
        }
        let record =
            |encoder: &mut CommandEncoder| launches.record(&mut encoder.begin_compute_pass(&PASS), Count::Fixed(count as u32));
        let mut runs = [0_u32];
        let counter = call.workspace().buffer(Role::RunCount).clone();
        call.run(record, &[counter], &mut [bytemuck::cast_slice_mut(&mut runs)]).await?;
        // The number of runs says how much of the outputs there is to copy.
        let count_of_runs = runs[0] as usize;
        let mut found = FoundRuns { count: count_of_runs, ..FoundRuns::default() };
        let mut outputs: Vec<(Role, &mut [u8])> = vec![];
        if unique.is_some() {
            found.unique = vec![0; count_of_runs * request.key_bits as usize / 8];
            outputs.push((Role::Unique, &mut found.unique));
        }
        if offsets.is_some() {
            found.offsets = vec![0; count_of_runs + 1];
            outputs.push((Role::RunOffsets, bytemuck::cast_slice_mut(&mut found.offsets)));
        }
        if lengths.is_some() {
            found.lengths = vec![0; count_of_runs];
            outputs.push((Role::RunLengths, bytemuck::cast_slice_mut(&mut found.lengths)));
        }
        outputs.retain(|(_, bytes)| !bytes.is_empty());
        if !outputs.is_empty() {
            let sources: Vec<Buffer> = outputs.iter().map(|(role, _)| call.workspace().buffer(*role).clone()).collect();
            let mut targets: Vec<&mut [u8]> = outputs.into_iter().map(|(_, bytes)| bytes).collect();
            call.run(|_| Ok(()), &sources, &mut targets).await?;
        }
        Ok(found)
    }
}

impl WgpuBackend {
    /// Replaces `offsets` by the offset of each run of equal neighboring words, and the number of words.
    pub(crate) async fn runs_of_words<W: Word>(
        &self,
        waiting: Waiting,
        keys: &[W],
        offsets: &mut Vec<usize>,
        spec: Spec,
    ) -> Result<(), Error> {
        // The host finds the runs of keys that do not fit a binding, or whose offsets do not: there is one more offset than
        // there are keys. It reads each key once, which takes about as long as sending it to the device.
        let longest = self.facts().limits(1).longest(size_of::<W>().max(4));
        if keys.len() < 2 || keys.len() as u64 >= longest {
            return Operation::Runs { keys, offsets }.by_two_sorts(self, spec);
        }
        let place = Place::default();
        let runs = FindRuns { count: place, unique: None, offsets: Some(place), lengths: None };
        let request = self.engine().rounded(Request::keys(W::BITS, spec, keys.len() as u64).find_runs(runs));
        let tested = self.engine().tested(waiting, request).await?;
        let found = self.engine().runs_untested(waiting, tested, bytemuck::cast_slice(keys), keys.len()).await?;
        *offsets = found.offsets.into_iter().map(|offset| offset as usize).collect();
        Ok(())
    }
}
