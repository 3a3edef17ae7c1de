//! The bytes of each buffer that a plan touches. An executor compares them with the size of a buffer before it binds it.

use super::command::Buffer;
use super::search::SearchPlan;
use super::sort_plan::SortPlan;
use polysort_vector::Shape;

impl SortPlan {
    /// Returns how many bytes of a binding of `buffer` the commands of this plan may read or write. The bytes count from the
    /// start of the binding, those before the first element included, and are a multiple of 4.
    ///
    /// Returns `None` for two buffers, whose size does not follow from the request: [`Buffer::Count`], and [`Buffer::Keys`]
    /// of a selection from segments without
    /// [offsets](crate::plan::Request::segments).
    pub fn touched_bytes(&self, buffer: Buffer) -> Option<u64> {
        let request = &self.request;
        let after = |first: u32, bytes: u64| 4 * u64::from(first) + bytes.next_multiple_of(4);
        // A binding has room for at least one element.
        let key_bytes = u64::from(request.key_words()) * 4;
        let value_bytes = request.value_bytes().max(u64::from(request.value_words().max(1)) * 4);
        let segments = request.segments.map_or(0, |segments| 4 * u64::from(segments.max).max(1));
        if let Some((place, bytes)) = request.run_output(buffer) {
            return Some(after(place.first, bytes));
        }
        if let Some((first, bytes)) = request.gather_part(buffer) {
            return Some(after(first, bytes));
        }
        let bytes = match buffer {
            Buffer::Keys if request.has_bounds() => return None,
            Buffer::Keys => after(request.keys.first, (request.max * u64::from(request.key_bits)).div_ceil(8).max(key_bytes)),
            Buffer::Values if request.wide_indices.is_none() => after(request.values.first, value_bytes),
            Buffer::WideIndices => after(request.wide_indices.map_or(0, |place| place.first), value_bytes),
            Buffer::Begins => after(request.segments.map_or(0, |segments| segments.begins.first), segments),
            Buffer::Ends => after(request.segments.map_or(0, |segments| segments.ends.first), segments),
            // Begin and end of each segment to select from.
            Buffer::Bounds => after(0, 8 * request.units().max(1)),
            Buffer::Count => return None,
            own => self.scratch.iter().find(|(scratch, _)| *scratch == own).map_or(0, |&(_, bytes)| bytes),
        };
        Some(bytes)
    }
}

/// The size of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchSize {
    /// Number of queries.
    pub queries: u64,
    /// Candidates of all queries.
    pub candidates: u64,
    /// Entries of the store.
    pub entries: u64,
    /// Vectors of the page.
    pub page_slots: u64,
    /// The number of results of all queries, empty ones included.
    pub selected: u64,
}

impl SearchPlan {
    /// Returns how many bytes of a binding of `buffer` a search of this `size` may read or write. The store has this
    /// `shape`. The bytes count from the start of the binding.
    pub fn touched_bytes(shape: Shape, size: SearchSize, buffer: Buffer) -> u64 {
        let bytes = match buffer {
            Buffer::Queries => 4 * size.queries * shape.dimension as u64,
            // In place of a slot that does not exist, kernels read the first vector of the page. Each page has one.
            Buffer::Vectors => Self::stride_bytes(shape) * size.page_slots.max(1),
            Buffer::Entries => 4 * size.entries,
            Buffer::Listed | Buffer::Distances | Buffer::Slots => 4 * size.candidates,
            Buffer::Offsets => 4 * (size.queries + 1),
            Buffer::Faults => 4,
            Buffer::Positions | Buffer::NearDistances | Buffer::NearSlots => 4 * size.selected,
            _ => 0,
        };
        // A kernel may read four numbers at a time, also at the end.
        bytes.max(16)
    }
}
