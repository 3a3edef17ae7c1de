//! Sorts of the host's data by kernels that need not have passed a self-test: the self-tests themselves run them.

use crate::call::Call;
use crate::data::{Data, Lists};
use crate::engine::{Engine, PASS};
use crate::joined::Joined;
use crate::launch::Count;
use crate::wait::Waiting;
use crate::workspace::{Bindable, Staging};
use polysort_core::Error;
use polysort_shaders::plan::{Buffer as Role, Request, Segmented};
use std::sync::Arc;
use wgpu::{Buffer, CommandEncoder};

impl Engine {
    /// Rounds the lengths of a request up by less than 1/4. So sorts of similar lengths use the same buffers and bind
    /// groups.
    pub(crate) fn rounded(&self, request: Request) -> Request {
        let rounded = |count: u64| count.next_multiple_of((count / 8).next_power_of_two());
        let most = self.gpu().facts.limits(request.value_words()).longest(request.unit_bytes());
        let segments = request.segments.map(|segments| Segmented { max: rounded(segments.max.into()) as u32, ..segments });
        // There is one more offset of a run than there are runs.
        let most = most - u64::from(request.runs.is_some());
        Request { max: rounded(request.max).min(most).max(request.max), segments, ..request }
    }

    /// Sorts data of the host, without a self-test. `request.max` is at least the number of keys. With `lists`, it sorts
    /// each segment by itself.
    pub(crate) async fn sort_untested(
        self: &Arc<Self>,
        waiting: Waiting,
        (request, native): Bindable,
        mut data: Data<'_>,
        lists: Option<Lists<'_>>,
    ) -> Result<(), Error> {
        let bytes = data.inputs().0.len() as u64;
        let count = match (&data, request.segments) {
            (_, Some(segments)) => segments.max.into(),
            // `max` of such a request is the number of keys, or of segments to select from.
            (Data::Top(..), None) => request.max,
            (_, None) => 8 * bytes / u64::from(request.key_bits),
        };
        let request = self.rounded(request);
        let gpu = self.gpu().clone();
        let results: Vec<usize> = data.results().iter().map(|(_, bytes)| bytes.len()).collect();
        let lists = lists.into_iter().flat_map(Lists::uploads).filter(|(_, bytes)| !bytes.is_empty());
        let uploads: Vec<(Role, Joined<'_>)> = data.uploads().into_iter().chain(lists).collect();
        // The plan of a selection from segments does not have the number of keys.
        let roomy = || bytes.next_power_of_two().min(gpu.facts.max_binding).max(bytes);
        let keys = if request.has_bounds() { vec![(Role::Keys, roomy())] } else { vec![] };
        let up: Vec<usize> = uploads.iter().map(|(_, bytes)| bytes.len()).collect();
        let mut call = Call::begin(self, waiting, Some((request, native)), &keys, Staging { up: &up, down: &results }).await?;
        let grow = || keys.iter().try_for_each(|&(role, bytes)| call.workspace_mut().grow(&gpu, role, bytes));
        self.allocating(waiting, grow).await?;
        let launches = call.launches((request, native)).await?;
        for (role, bytes) in uploads {
            call.upload(&bytes, role).await?;
        }
        let mut results = data.results();
        let source = |role| if role == Role::Values { request.value_buffer() } else { role };
        let sources: Vec<Buffer> = results.iter().map(|(role, _)| call.workspace().buffer(source(*role)).clone()).collect();
        let mut targets: Vec<&mut [u8]> = results.iter_mut().map(|(_, bytes)| &mut **bytes).collect();
        let record =
            |encoder: &mut CommandEncoder| launches.record(&mut encoder.begin_compute_pass(&PASS), Count::Fixed(count as u32));
        call.run(record, &sources, &mut targets).await
    }
}
