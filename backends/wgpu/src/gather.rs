//! A gather of data of the host, for the self-test.

use crate::call::Call;
use crate::engine::{Engine, PASS};
use crate::launch::Count;
use crate::wait::Waiting;
use crate::workspace::{Bindable, Staging};
use polysort_core::Error;
use polysort_shaders::plan::Buffer as Role;
use std::sync::Arc;
use wgpu::CommandEncoder;

impl Engine {
    /// Gathers elements of `from` to `to`, by as many indices as the request has at most. Runs no self-test.
    pub(crate) async fn gather_untested(
        self: &Arc<Self>,
        waiting: Waiting,
        sort: Bindable,
        (from, indices): (&[u8], &[u32]),
        to: &mut [u8],
    ) -> Result<(), Error> {
        let uploads: [(Role, &[u8]); 2] = [(Role::GatherFrom, from), (Role::Keys, bytemuck::cast_slice(indices))];
        let up = uploads.map(|(_, bytes)| bytes.len());
        let mut call = Call::begin(self, waiting, Some(sort), &[], Staging { up: &up, down: &[to.len()] }).await?;
        let launches = call.launches(sort).await?;
        for (role, bytes) in uploads {
            call.upload(&bytes.into(), role).await?;
        }
        let count = Count::Fixed(indices.len() as u32);
        let record = |encoder: &mut CommandEncoder| launches.record(&mut encoder.begin_compute_pass(&PASS), count);
        let result = call.workspace().buffer(Role::GatherTo).clone();
        call.run(record, &[result], &mut [to]).await
    }
}
