//! The data of the host that a sort on the device reads and writes, as bytes.

use polysort_shaders::plan::Buffer as Role;

/// Data of the host to sort.
pub(crate) enum Data<'a> {
    /// Keys, sorted in place.
    Keys(&'a mut [u8]),
    /// Keys and values, sorted in place.
    Pairs(&'a mut [u8], &'a mut [u8]),
    /// Keys that stay as they are, and the slice for the sorted ones.
    KeysInto(&'a [u8], &'a mut [u8]),
    /// Keys and values that stay as they are, and the slices for the sorted ones.
    PairsInto((&'a [u8], &'a [u8]), (&'a mut [u8], &'a mut [u8])),
    /// Keys that stay as they are, and the slice for their indices.
    Indices(&'a [u8], &'a mut [u8]),
    /// A selection: keys that stay as they are, bounds of segments, and the slice for the indices of the selected keys.
    /// The bounds are the begin and end of each segment; they are empty without segments.
    Top(&'a [u8], &'a [u8], &'a mut [u8]),
}

/// The begins and the ends of the segments to sort.
#[derive(Clone, Copy)]
pub(crate) struct Lists<'a> {
    pub(crate) begins: &'a [u8],
    pub(crate) ends: &'a [u8],
}

impl Data<'_> {
    /// The keys.
    pub(crate) fn keys(&self) -> &[u8] {
        match self {
            Data::Keys(keys) | Data::Pairs(keys, _) => keys,
            Data::KeysInto(keys, _) | Data::PairsInto((keys, _), _) | Data::Indices(keys, _) | Data::Top(keys, ..) => keys,
        }
    }

    /// All that the device reads, by the buffer that it goes to.
    pub(crate) fn uploads(&self) -> Vec<(Role, &[u8])> {
        let others: Option<(Role, &[u8])> = match self {
            Data::Keys(_) | Data::KeysInto(..) | Data::Indices(..) => None,
            Data::Pairs(_, values) => Some((Role::Values, values)),
            Data::PairsInto((_, values), _) => Some((Role::Values, values)),
            Data::Top(_, bounds, _) => Some((Role::Bounds, bounds)),
        };
        [(Role::Keys, self.keys())].into_iter().chain(others).collect()
    }

    /// All that the device writes, by the buffer that it comes from.
    pub(crate) fn results(&mut self) -> Vec<(Role, &mut [u8])> {
        match self {
            Data::Keys(keys) => vec![(Role::Keys, keys)],
            Data::KeysInto(_, keys) => vec![(Role::Keys, keys)],
            Data::Pairs(keys, values) => vec![(Role::Keys, keys), (Role::Values, values)],
            Data::PairsInto(_, (keys, values)) => vec![(Role::Keys, keys), (Role::Values, values)],
            Data::Indices(_, indices) | Data::Top(_, _, indices) => vec![(Role::Values, indices)],
        }
    }
}

impl<'a> Lists<'a> {
    /// The buffers that the lists go to.
    pub(crate) fn uploads(self) -> [(Role, &'a [u8]); 2] {
        [(Role::Begins, self.begins), (Role::Ends, self.ends)]
    }
}
