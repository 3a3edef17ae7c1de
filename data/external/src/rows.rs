//! [`Table`]: rows of any length, each with a key.
//!
//! ```text
//! in memory   text      row row … row              spans give where each row is, in order; a sort moves keys and spans
//!             keys      one for each row
//! block       rows u64 | keys | lengths u32 | text
//! ```

use crate::ExternalError;
use crate::budget::RowBudget;
use crate::kind::{Kind, Part};
use crate::layout::pair_sort_bytes;
use bytemuck::{Pod, Zeroable};
use polysort_core::{Backend, Error, Options, Sort, Sortable, Spec};
use polysort_rayon::RayonBackend;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The order of rows with keys of the type `K`.
pub(crate) struct Table<'m, K> {
    pub(crate) merger: &'m RayonBackend,
    pub(crate) options: Options,
    pub(crate) spec: Spec,
    pub(crate) budget: RowBudget,
    /// Bytes of the longest row so far.
    pub(crate) longest: AtomicUsize,
    pub(crate) key: core::marker::PhantomData<fn() -> K>,
}

/// Where a row is in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Span {
    begin: u32,
    len: u32,
}

/// A row of a block of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Position {
    run: u32,
    at: u32,
}

/// Rows in memory.
pub(crate) struct RowsInMemory<K> {
    text: Vec<u8>,
    keys: Vec<K>,
    spans: Vec<Span>,
    /// Positions of the rows, if they are those of a block.
    positions: Vec<Position>,
    /// Whether the rows follow each other in the text, and nothing else is in it.
    is_in_order: bool,
}

impl<K> Default for RowsInMemory<K> {
    fn default() -> Self {
        Self { text: vec![], keys: vec![], spans: vec![], positions: vec![], is_in_order: true }
    }
}

impl<K: Pod> RowsInMemory<K> {
    fn row(&self, at: usize) -> &[u8] {
        let Span { begin, len } = self.spans[at];
        &self.text[begin as usize..][..len as usize]
    }

    fn clear(&mut self) {
        self.text.clear();
        self.keys.clear();
        self.spans.clear();
        self.positions.clear();
        self.is_in_order = true;
    }

    /// Adds a row whose bytes are the text from `begin` on.
    fn add(&mut self, key: K, begin: usize) {
        self.keys.push(key);
        self.spans.push(Span { begin: begin as u32, len: (self.text.len() - begin) as u32 });
    }

    fn cost(&self) -> usize {
        self.text.len() + self.keys.len() * row_cost::<K>()
    }
}

/// Bytes of memory for a row of a block, beside its text: its key and its span, in the block as it is stored and in memory, and its position.
const fn row_cost<K>() -> usize {
    2 * (size_of::<K>() + size_of::<Span>()) + size_of::<Position>()
}

/// Divides `cap` bytes among rows with keys of the type `K`.
pub(crate) fn table_budget<K: Sortable>(cap: usize) -> Result<RowBudget, ExternalError> {
    RowBudget::of(cap, size_of::<K>() + size_of::<Span>(), pair_sort_bytes::<K, Span>())
}

/// About as many of the first merged rows of `parts` as `room` bytes hold, and one at least.
fn rows_within<K: Pod>(room: usize, parts: &[Part<'_, RowsInMemory<K>>]) -> usize {
    let cost = |(rows, range): &Part<'_, RowsInMemory<K>>| {
        if rows.keys.is_empty() { 0 } else { rows.cost().div_ceil(rows.keys.len()) * range.len() }
    };
    let (ready, bytes) = (parts.iter().map(|(_, range)| range.len()).sum::<usize>(), parts.iter().map(cost).sum::<usize>());
    (room as u128 * ready as u128).div_ceil(bytes.max(1) as u128).clamp(1, ready as u128) as usize
}

/// Reads rows until there are as many as `is_full` wants. Returns whether the input has ended.
fn fill<K: Sortable + Pod>(
    table: &Table<'_, K>,
    rows: &mut RowsInMemory<K>,
    (before, most): (u64, usize),
    next: &mut impl FnMut(&mut Vec<u8>) -> io::Result<Option<K>>,
    is_full: impl Fn(usize, usize) -> bool,
) -> Result<bool, ExternalError> {
    rows.clear();
    while !is_full(rows.text.len(), rows.keys.len()) {
        let begin = rows.text.len();
        let Some(key) = next(&mut rows.text).map_err(ExternalError::Input)? else {
            rows.text.truncate(begin);
            return Ok(true);
        };
        let len = rows.text.len() - begin;
        if len > most {
            let row = before + rows.keys.len() as u64;
            return Err(ExternalError::RowTooLong { row, most, cap: table.budget.cap });
        }
        table.longest.fetch_max(len, Ordering::Relaxed);
        rows.add(key, begin);
    }
    Ok(false)
}

impl<K: Sortable + Pod + Send + Sync> Table<'_, K> {
    /// Replaces `rows` by the next run of an input. Returns whether the input has ended. `before` is the number of rows before the run.
    pub(crate) fn fill_run(
        &self,
        rows: &mut RowsInMemory<K>,
        before: u64,
        next: &mut impl FnMut(&mut Vec<u8>) -> io::Result<Option<K>>,
    ) -> Result<bool, ExternalError> {
        let RowBudget { run_text, run_rows, longest, .. } = self.budget;
        // All that a run can use, so that no vector grows and is copied. Pages that are not used are never touched.
        rows.text.reserve_exact((run_text + longest).saturating_sub(rows.text.len()));
        rows.keys.reserve_exact(run_rows.saturating_sub(rows.keys.len()));
        rows.spans.reserve_exact(run_rows.saturating_sub(rows.spans.len()));
        fill(self, rows, (before, longest), next, |text, len| text >= run_text || len == run_rows)
    }

    /// Replaces `rows` by the next block of an input of a merge. Returns whether the input has ended. `before` is the number of rows before the block.
    pub(crate) fn fill_block(
        &self,
        rows: &mut RowsInMemory<K>,
        before: u64,
        next: &mut impl FnMut(&mut Vec<u8>) -> io::Result<Option<K>>,
    ) -> Result<bool, ExternalError> {
        let RowBudget { block, longest_merged, .. } = self.budget;
        fill(self, rows, (before, longest_merged), next, |text, len| text + len * row_cost::<K>() >= block)
    }
}

impl<K: Sortable + Pod + Send + Sync> Kind for Table<'_, K> {
    type Records = RowsInMemory<K>;

    fn len(&self, rows: &RowsInMemory<K>) -> usize {
        rows.keys.len()
    }

    fn clear(&self, rows: &mut RowsInMemory<K>) {
        rows.clear();
    }

    fn rank(&self, rows: &RowsInMemory<K>, at: usize) -> u128 {
        use polysort_core::Word;
        self.spec.rank(rows.keys[at].to_bits()).widen()
    }

    fn sort(&self, backend: &impl Backend, rows: &mut RowsInMemory<K>) -> Result<(), Error> {
        rows.is_in_order = false;
        backend.sort_pairs_with(&mut rows.keys, &mut rows.spans, self.options)
    }

    fn is_full(&self, merged: &RowsInMemory<K>) -> bool {
        merged.cost() >= self.budget.output
    }

    fn merge(&self, parts: &[Part<'_, RowsInMemory<K>>], merged: &mut RowsInMemory<K>) -> Result<Vec<usize>, Error> {
        // If these rows turn out to be longer, the rest of them is merged again.
        let len = rows_within(self.budget.output.saturating_sub(merged.cost()), parts);
        let pairs: Vec<(&[K], &[Position])> =
            parts.iter().map(|(rows, range)| (&rows.keys[range.clone()], &rows.positions[range.clone()])).collect();
        let (mut keys, mut positions) = (vec![K::zeroed(); len], vec![Position::default(); len]);
        self.merger.merge_pairs_into_with(&pairs, &mut keys, &mut positions, self.options)?;
        let mut taken = vec![0; parts.len()];
        for (key, Position { run, at }) in keys.into_iter().zip(positions) {
            let begin = merged.text.len();
            merged.text.extend_from_slice(parts[run as usize].0.row(at as usize));
            merged.add(key, begin);
            taken[run as usize] += 1;
            if self.is_full(merged) {
                break;
            }
        }
        Ok(taken)
    }

    fn store(
        &self,
        rows: &RowsInMemory<K>,
        append: &mut dyn FnMut(&[u8]) -> Result<(), ExternalError>,
    ) -> Result<(), ExternalError> {
        let (mut begin, mut block) = (0, vec![]);
        while begin < rows.keys.len() {
            let (mut end, mut cost) = (begin, 0);
            while end < rows.keys.len() && cost < self.budget.block {
                cost += row_cost::<K>() + rows.spans[end].len as usize;
                end += 1;
            }
            block.clear();
            block.extend_from_slice(bytemuck::bytes_of(&((end - begin) as u64)));
            block.extend_from_slice(bytemuck::cast_slice(&rows.keys[begin..end]));
            rows.spans[begin..end].iter().for_each(|span| block.extend_from_slice(&span.len.to_ne_bytes()));
            (begin..end).for_each(|at| block.extend_from_slice(rows.row(at)));
            append(&block)?;
            begin = end;
        }
        Ok(())
    }

    fn load(
        &self,
        bytes: usize,
        read: &mut dyn FnMut(&mut [u8]) -> Result<(), ExternalError>,
        rows: &mut RowsInMemory<K>,
    ) -> Result<(), ExternalError> {
        rows.clear();
        rows.text.resize(bytes, 0);
        read(&mut rows.text)?;
        let (len, rest) = rows.text.split_at(size_of::<u64>());
        let len = bytemuck::pod_read_unaligned::<u64>(len) as usize;
        let (keys, rest) = rest.split_at(len * size_of::<K>());
        let (lens, text) = rest.split_at(len * size_of::<u32>());
        rows.keys.extend(keys.chunks_exact(size_of::<K>()).map(bytemuck::pod_read_unaligned::<K>));
        let mut begin = (rows.text.len() - text.len()) as u32;
        rows.spans.extend(lens.chunks_exact(size_of::<u32>()).map(|len| {
            let span = Span { begin, len: bytemuck::pod_read_unaligned(len) };
            begin += span.len;
            span
        }));
        rows.is_in_order = false;
        Ok(())
    }

    fn place(&self, run: usize, rows: &mut RowsInMemory<K>) {
        rows.positions.clear();
        rows.positions.extend((0..rows.keys.len()).map(|at| Position { run: run as u32, at: at as u32 }));
    }

    fn write(&self, rows: &RowsInMemory<K>, output: &mut dyn Write) -> io::Result<()> {
        if rows.is_in_order {
            return output.write_all(&rows.text);
        }
        (0..rows.keys.len()).try_for_each(|at| output.write_all(rows.row(at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::ordered;

    const CAP: usize = 1 << 20;

    fn table(merger: &RayonBackend) -> Table<'_, u32> {
        let options = Options::ascending();
        let (spec, budget) = (ordered::<u32>(options).unwrap(), table_budget::<u32>(CAP).unwrap());
        Table { merger, options, spec, budget, longest: AtomicUsize::new(0), key: core::marker::PhantomData }
    }

    /// A run of rows of `len` bytes.
    fn run_of(table: &Table<'_, u32>, len: usize) -> RowsInMemory<u32> {
        let mut rows = RowsInMemory::default();
        let mut next = |text: &mut Vec<u8>| {
            text.resize(text.len() + len, b'x');
            Ok(Some(7))
        };
        assert!(!table.fill_run(&mut rows, 0, &mut next).unwrap());
        rows
    }

    #[test]
    fn a_run_has_the_memory_of_the_budget() {
        let merger = RayonBackend::default();
        let table = table(&merger);
        for len in [0, 1, 40, 1000, table.budget.longest] {
            let RowsInMemory { text, keys, spans, .. } = run_of(&table, len);
            assert!(text.capacity() <= table.budget.run_text + table.budget.longest, "{} bytes of text", text.capacity());
            assert!(keys.capacity().max(spans.capacity()) <= table.budget.run_rows, "{} keys", keys.capacity());
            assert!(text.len() >= table.budget.run_text || keys.len() == table.budget.run_rows, "{} rows of {len}", keys.len());
        }
    }

    #[test]
    fn a_block_has_the_memory_of_the_budget() {
        let merger = RayonBackend::default();
        let table = table(&merger);
        for len in [0, 1, 40, 1000] {
            let (run, mut rows, mut blocks) = (run_of(&table, len), RowsInMemory::default(), vec![]);
            let append = &mut |block: &[u8]| {
                blocks.push(block.to_vec());
                Ok(())
            };
            table.store(&run, append).unwrap();
            let last = blocks.len() - 1;
            for (index, block) in blocks.iter().enumerate() {
                let read = &mut |bytes: &mut [u8]| {
                    bytes.copy_from_slice(block);
                    Ok(())
                };
                table.load(block.len(), read, &mut rows).unwrap();
                table.place(0, &mut rows);
                let RowsInMemory { text, keys, spans, positions, .. } = &rows;
                let bytes = text.len() + size_of_val(&keys[..]) + size_of_val(&spans[..]) + size_of_val(&positions[..]);
                let one_row = len + 32;
                assert!(bytes <= table.budget.block + one_row, "{bytes} bytes of {} rows of {len}", keys.len());
                assert!(bytes >= table.budget.block / 4 * 3 || index == last, "{bytes} bytes of {} rows of {len}", keys.len());
            }
        }
    }

    /// A row has a key of 4 bytes and a span of 8, both in the block and in memory, and a position of 8: 32 bytes.
    #[test]
    fn a_merge_takes_the_rows_that_it_has_room_for() {
        let rows = |count: usize, len: usize| RowsInMemory {
            text: vec![b'x'; count * len],
            keys: vec![7; count],
            spans: (0..count).map(|row| Span { begin: (row * len) as u32, len: len as u32 }).collect(),
            ..RowsInMemory::default()
        };
        let (long, short, none) = (rows(100, 68), rows(100, 0), rows(0, 0));
        let parts = [(&long, 0..100), (&none, 0..0), (&short, 75..100)];
        let bytes = 100 * (68 + 32) + 25 * 32;
        for (room, expected) in [(0, 1), (1, 1), (bytes / 5, 25), (bytes / 5 + 1, 26), (bytes, 125), (usize::MAX, 125)] {
            assert_eq!(rows_within(room, &parts), expected, "{room} of {bytes} bytes");
        }
    }
}
