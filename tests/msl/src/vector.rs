//! Vector search on `MslBackend`: an executor of `SearchPlan`, as `vector.rs` is with wgpu.

use crate::backend::{Memory, MslBackend};
use crate::buffer::Buffer;
use half::f16;
use polysort_core::Error;
use polysort_shaders::abi;
use polysort_shaders::plan::{Buffer as Role, SearchPlan, SortPlan};
use polysort_vector::{Distances, Nearest, Precision, Search, Shape, VectorError, VectorSearch, VectorStore, nearest_by};

/// A store whose pages fit a binding of the emulated GPU.
#[derive(Clone, Debug)]
pub struct MslStore {
    shape: Shape,
    /// Slots of each page; the last one may have fewer.
    page_slots: usize,
    pages: Vec<Buffer>,
    entries: Vec<u32>,
}

impl VectorStore for MslStore {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn entries(&self) -> usize {
        self.entries.len()
    }

    fn write(&mut self, slot: u32, vectors: &[f32]) -> Result<(), VectorError> {
        self.shape.check_write(slot, vectors)?;
        let bytes = SearchPlan::stride_bytes(self.shape) as usize;
        for (slot, vector) in (slot as usize..).zip(vectors.chunks_exact(self.shape.dimension)) {
            let row: Vec<u8> = match self.shape.precision {
                Precision::F32 => bytemuck::pod_collect_to_vec(vector),
                Precision::F16 => vector.iter().flat_map(|&number| f16::from_f32(number).to_ne_bytes()).collect(),
                other => return Err(Error::Unsupported { what: format!("vectors in the precision {other:?}") }.into()),
            };
            let start = slot % self.page_slots * bytes;
            self.pages[slot / self.page_slots].bytes_mut()[start..start + row.len()].copy_from_slice(&row);
        }
        Ok(())
    }

    fn set_entries(&mut self, slots: &[u32]) -> Result<(), VectorError> {
        self.shape.check_entries(slots)?;
        self.entries = slots.to_vec();
        Ok(())
    }
}

impl VectorSearch for MslBackend {
    type Store = MslStore;

    fn vector_store(&self, shape: Shape) -> Result<MslStore, VectorError> {
        shape.check()?;
        // The limit is below that of a GPU, since the runner compares all bytes of a buffer.
        const LIMIT: u64 = 1 << 30;
        let (bytes, slots) = (SearchPlan::stride_bytes(shape), shape.capacity.max(1));
        let page_slots = ((self.config().facts.max_binding / bytes) as usize).min(slots);
        if page_slots == 0 || bytes.saturating_mul(slots as u64) > LIMIT {
            return Err(Error::OutOfMemory { asked: bytes.saturating_mul(slots as u64), limit: Some(LIMIT) }.into());
        }
        let page = |start| Buffer::of(&vec![0_u8; page_slots.min(slots - start) * bytes as usize]);
        let pages = (0..slots).step_by(page_slots).map(page).collect();
        Ok(MslStore { shape, page_slots, pages, entries: vec![] })
    }

    fn distances(&self, store: &MslStore, search: &Search<'_>) -> Result<Distances, VectorError> {
        search.queries(store.shape.dimension, store.entries.len())?;
        let mut memory = self.search(store, search, 0)?;
        Ok(Distances { distances: taken(&mut memory, Role::Distances), slots: taken(&mut memory, Role::Slots) })
    }

    fn nearest(&self, store: &MslStore, search: &Search<'_>, k: usize) -> Result<Nearest, VectorError> {
        search.queries(store.shape.dimension, store.entries.len())?;
        let longest = search.candidate_offsets.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0) as usize;
        let k = k.min(longest);
        if k > self.config().facts.most_selected() as usize {
            return nearest_by(self, &self.distances(store, search)?, search.candidate_offsets, k);
        }
        let mut memory = self.search(store, search, k as u32)?;
        Nearest::new(k, taken(&mut memory, Role::NearDistances), taken(&mut memory, Role::NearSlots))
    }
}

/// Removes a buffer and returns its values; none if it does not exist.
fn taken<T: bytemuck::Pod>(memory: &mut Memory, role: Role) -> Vec<T> {
    memory.remove(&role).unwrap_or_default().values()
}

impl MslBackend {
    /// Computes all distances, and selects the `k` nearest vectors of each query, unless `k` is 0. Returns the buffers after the last launch.
    fn search(&self, store: &MslStore, search: &Search<'_>, k: u32) -> Result<Memory, VectorError> {
        let (queries, candidates) = (search.candidate_offsets.len().saturating_sub(1), search.candidate_indices.len());
        if candidates == 0 {
            return Ok(Memory::new());
        }
        let facts = &self.config().facts;
        let plan = SearchPlan::new(store.shape, search.metric, facts);
        let selected = queries * k as usize;
        let bounds: Vec<[u32; 2]> = search.candidate_offsets.windows(2).map(|pair| [pair[0], pair[1]]).collect();
        // The buffer is longer than the entries, as on a device.
        let entries = [store.entries.as_slice(), &[0]].concat();
        let mut memory = Memory::from([
            (Role::Queries, Buffer::of(search.queries)),
            (Role::Entries, Buffer::of(&entries)),
            (Role::Listed, Buffer::of(search.candidate_indices)),
            (Role::Offsets, Buffer::of(search.candidate_offsets)),
            (Role::Distances, Buffer::garbage(4 * candidates, 1)),
            (Role::Slots, Buffer::garbage(4 * candidates, 2)),
            (Role::Faults, Buffer::of(&[0_u32])),
            (Role::Bounds, Buffer::of(&bounds)),
            (Role::NearDistances, Buffer::garbage(4 * selected, 3)),
            (Role::NearSlots, Buffer::garbage(4 * selected, 4)),
        ]);
        let about = abi::Search {
            queries: queries as u32,
            dimension: store.shape.dimension as u32,
            candidates: candidates as u32,
            entries: store.entries.len() as u32,
            capacity: store.shape.capacity as u32,
            stride: SearchPlan::stride(store.shape),
            selected: selected as u32,
            ..abi::Search::default()
        };
        let grid = plan.distances.groups.grid(candidates as u64, facts.max_groups)?;
        for (page, vectors) in store.pages.iter().enumerate() {
            let first = page * store.page_slots;
            let page_slots = store.page_slots.min(store.shape.capacity - first.min(store.shape.capacity)) as u32;
            memory.insert(Role::Search, Buffer::of(&[abi::Search { page_first: first as u32, page_slots, ..about }]));
            memory.insert(Role::Vectors, vectors.clone());
            self.launch(&plan.distances, grid, 0, &mut memory)?;
        }
        if k > 0 {
            let select = SortPlan::new(SearchPlan::select(k, queries as u64), facts)?;
            // The keys of the selection are the distances.
            let distances = memory.remove(&Role::Distances).unwrap_or_default();
            memory.extend([(Role::Keys, distances), (Role::Values, Buffer::garbage(4 * selected, 5))]);
            self.launch_plan(&select, select.request.max, &mut memory)?;
            for (role, data) in [(Role::Distances, Role::Keys), (Role::Positions, Role::Values)] {
                let buffer = memory.remove(&data).unwrap_or_default();
                memory.insert(role, buffer);
            }
            memory.insert(Role::Search, Buffer::of(&[about]));
            self.launch(&plan.nearest, plan.nearest.groups.grid(selected as u64, facts.max_groups)?, 0, &mut memory)?;
        }
        VectorError::check_candidates(memory[&Role::Faults].values::<u32>()[0].into())?;
        Ok(memory)
    }
}
