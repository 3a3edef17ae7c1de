//! `Workspace`: the memory of one call on the device, with the launches that are bound to it.

use crate::array::Array;
use crate::bind::Part;
use crate::down::Down;
use crate::gpu::{Gpu, STORAGE, allocated_bytes};
use crate::launch::Launches;
use crate::up::Up;
use polysort_core::Error;
use polysort_shaders::plan::{Buffer as Role, Request, SortPlan};
use std::collections::BTreeMap;
use std::sync::Arc;
use wgpu::{Buffer, BufferUsages};

/// The number of sorts that stay bound, for later calls with the same request.
const KEPT: usize = 32;

/// A sort, and whether it uses native kernels.
pub(crate) type Bindable = (Request, bool);

/// The copies of a call: the lengths in bytes of the slices to upload, and of those to download.
#[derive(Clone, Copy, Default)]
pub(crate) struct Staging<'a> {
    pub(crate) up: &'a [usize],
    pub(crate) down: &'a [usize],
}

struct BoundSort {
    sort: Bindable,
    launches: Arc<Launches>,
    /// Bytes of the buffers that the sort is bound to.
    bytes: u64,
}

/// The scratch and staging of one call.
#[derive(Default)]
pub(crate) struct Workspace {
    arrays: BTreeMap<Role, Array>,
    /// Bound sorts, in the order of their last use.
    launches: Vec<BoundSort>,
    pub(crate) up: Up,
    pub(crate) down: Down,
}

impl Workspace {
    /// Returns the bytes of all buffers, staging included.
    pub(crate) fn bytes(&self) -> u64 {
        self.arrays.values().map(Array::size).sum::<u64>() + self.up.bytes() + self.down.bytes()
    }

    /// Returns the bytes of the buffers that this sort is bound to; `None` if it is not bound.
    pub(crate) fn bound_bytes(&self, sort: &Bindable) -> Option<u64> {
        self.launches.iter().find(|bound| bound.sort == *sort).map(|bound| bound.bytes)
    }

    /// Returns the most bytes that the workspace has after a call. Its buffers then have grown to `needs`, and its staging
    /// has made the copies of `staging`, with `ahead` as in [`Up::copy`].
    pub(crate) fn bytes_with(&self, needs: &[(Role, u64)], staging: Staging<'_>, ahead: bool) -> u64 {
        let size = |role| self.arrays.get(&role).map_or(0, Array::size);
        let more = needs.iter().map(|&(role, bytes)| allocated_bytes(bytes).saturating_sub(size(role)));
        let buffers = self.arrays.values().map(Array::size).sum::<u64>() + more.sum::<u64>();
        buffers + self.up.bytes_with(staging.up, ahead) + self.down.bytes_with(staging.down)
    }

    /// Returns a buffer that [`grow`](Workspace::grow) has created.
    pub(crate) fn buffer(&self, role: Role) -> &Buffer {
        self.find(role).expect("a buffer that is not replaced by pages while a call uses it")
    }

    /// Returns a buffer; `None` if it has not been created, or has pages.
    pub(crate) fn find(&self, role: Role) -> Option<&Buffer> {
        self.arrays.get(&role).and_then(Array::single)
    }

    /// Returns an array that [`grow_array`](Workspace::grow_array) has created.
    pub(crate) fn array(&self, role: Role) -> &Array {
        &self.arrays[&role]
    }

    /// Replaces a buffer that has fewer than `bytes` bytes, or pages. Then it also drops all bound sorts, because they refer
    /// to the old buffer.
    pub(crate) fn grow(&mut self, gpu: &Gpu, role: Role, bytes: u64) -> Result<(), Error> {
        self.grow_array(gpu, role, bytes, None)
    }

    /// Like [`grow`](Workspace::grow), but the new array has pages of `page_bytes` bytes if it is longer than a page. An old
    /// array stays if it is a single buffer or has pages of that length.
    pub(crate) fn grow_array(&mut self, gpu: &Gpu, role: Role, bytes: u64, page_bytes: Option<u64>) -> Result<(), Error> {
        if self.arrays.get(&role).is_some_and(|array| array.fits(bytes, page_bytes)) {
            return Ok(());
        }
        // The old array is dropped first: there may be no memory for both.
        self.arrays.remove(&role);
        self.launches.clear();
        // If the device works in the host's memory, the host fills these buffers directly.
        let is_filled = gpu.is_shared && matches!(role, Role::Keys | Role::Values | Role::Bounds | Role::Begins | Role::Ends);
        let usage = if is_filled { STORAGE | BufferUsages::MAP_WRITE } else { STORAGE };
        let array = Array::new(gpu, &format!("polysort {role:?}"), bytes, page_bytes, usage)?;
        self.arrays.insert(role, array);
        Ok(())
    }

    /// Returns the launches of a sort, which is then the one used last; `None` if it is not bound.
    pub(crate) fn bound(&mut self, sort: &Bindable) -> Option<Arc<Launches>> {
        let at = self.launches.iter().position(|bound| bound.sort == *sort)?;
        self.launches[at..].rotate_left(1);
        self.launches.last().map(|bound| bound.launches.clone())
    }

    /// Grows the buffers to what the plan of a sort needs, and binds the sort to them.
    pub(crate) fn bind(&mut self, gpu: &Gpu, plan: SortPlan, native: bool) -> Result<Arc<Launches>, Error> {
        let (sort, needs) = ((plan.request, native), needs(&plan));
        for &(role, bytes) in &needs {
            self.grow(gpu, role, bytes)?;
        }
        let launches = Arc::new(Launches::new(gpu, plan, native, None, &|role| Part::from(self.buffer(role)))?);
        if self.launches.len() == KEPT {
            self.launches.remove(0);
        }
        let bytes = needs.iter().map(|(_, bytes)| bytes).sum();
        self.launches.push(BoundSort { sort, launches: launches.clone(), bytes });
        Ok(launches)
    }
}

/// The roles of the buffers that a caller may provide.
const CALLERS: [Role; 12] = [
    Role::Keys,
    Role::Values,
    Role::WideIndices,
    Role::Bounds,
    Role::Begins,
    Role::Ends,
    Role::RunCount,
    Role::Unique,
    Role::RunOffsets,
    Role::RunLengths,
    Role::GatherFrom,
    Role::GatherTo,
];

/// Returns the buffers that a sort of the host's data needs, with the bytes of each: the caller's, and the scratch.
pub(crate) fn needs(plan: &SortPlan) -> Vec<(Role, u64)> {
    let is_bound = |role: &Role| plan.all_commands().any(|command| command.bindings.contains(role));
    let is_scratch = |role: &Role| plan.scratch.iter().any(|(scratch, _)| scratch == role);
    let callers = CALLERS
        .into_iter()
        .filter(|role| is_bound(role) && !is_scratch(role))
        .map(|role| (role, plan.touched_bytes(role).unwrap_or(0)));
    callers.chain(plan.scratch.iter().copied()).collect()
}
