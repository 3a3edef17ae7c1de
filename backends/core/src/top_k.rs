//! The result of a selection.

/// The result of [`Sort::top_k`](crate::Sort::top_k) and [`Sort::top_k_segments`](crate::Sort::top_k_segments): the selected keys and their indices, in sorted order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopK<K> {
    /// The selected keys.
    pub keys: Vec<K>,
    /// The index of each selected key in the input.
    pub indices: Vec<u32>,
}
