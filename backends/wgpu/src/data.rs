//! The data of the host that a sort on the device reads and writes, as bytes.

use crate::joined::Joined;
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
    /// Parts of sorted runs that stay as they are, in the order of the runs, and the slices for the merged keys and values.
    /// Without a slice for the keys, only the values are copied back.
    Parts(Joined<'a>, Joined<'a>, Option<&'a mut [u8]>, &'a mut [u8]),
}

/// The begins and the ends of the segments to sort.
#[derive(Clone, Copy)]
pub(crate) struct Lists<'a> {
    pub(crate) begins: &'a [u8],
    pub(crate) ends: &'a [u8],
}

impl Data<'_> {
    /// Borrows the data for a shorter time.
    pub(crate) fn by_ref(&mut self) -> Data<'_> {
        match self {
            Data::Keys(keys) => Data::Keys(keys),
            Data::Pairs(keys, values) => Data::Pairs(keys, values),
            Data::KeysInto(keys, sorted) => Data::KeysInto(keys, sorted),
            Data::PairsInto(inputs, (keys, values)) => Data::PairsInto(*inputs, (keys, values)),
            Data::Indices(keys, indices) => Data::Indices(keys, indices),
            Data::Top(keys, bounds, indices) => Data::Top(keys, bounds, indices),
            Data::Parts(keys, values, sorted, moved) => Data::Parts(keys.clone(), values.clone(), sorted.as_deref_mut(), moved),
        }
    }

    /// The keys, and the values that move with them.
    pub(crate) fn inputs(&self) -> (Joined<'_>, Joined<'_>) {
        match self {
            Data::Keys(keys) => ((&**keys).into(), Joined::default()),
            Data::Pairs(keys, values) => ((&**keys).into(), (&**values).into()),
            Data::KeysInto(keys, _) | Data::Indices(keys, _) | Data::Top(keys, ..) => ((*keys).into(), Joined::default()),
            Data::PairsInto((keys, values), _) => ((*keys).into(), (*values).into()),
            Data::Parts(keys, values, ..) => (keys.clone(), values.clone()),
        }
    }

    /// All that the device reads, by the buffer that it goes to.
    pub(crate) fn uploads(&self) -> Vec<(Role, Joined<'_>)> {
        let (keys, values) = self.inputs();
        let bounds = if let Data::Top(_, bounds, _) = self { (*bounds).into() } else { Joined::default() };
        let all = [(Role::Keys, keys), (Role::Values, values), (Role::Bounds, bounds)];
        all.into_iter().filter(|(_, bytes)| !bytes.is_empty()).collect()
    }

    /// All that the device writes, by the buffer that it comes from.
    pub(crate) fn results(&mut self) -> Vec<(Role, &mut [u8])> {
        match self {
            Data::Keys(keys) => vec![(Role::Keys, keys)],
            Data::KeysInto(_, keys) => vec![(Role::Keys, keys)],
            Data::Pairs(keys, values) => vec![(Role::Keys, keys), (Role::Values, values)],
            Data::PairsInto(_, (keys, values)) => vec![(Role::Keys, keys), (Role::Values, values)],
            Data::Indices(_, indices) | Data::Top(_, _, indices) => vec![(Role::Values, indices)],
            Data::Parts(_, _, keys, values) => {
                let keys = keys.as_deref_mut().map(|keys| (Role::Keys, keys));
                let values = (!values.is_empty()).then_some((Role::Values, &mut **values));
                keys.into_iter().chain(values).collect()
            }
        }
    }
}

impl<'a> Lists<'a> {
    /// The buffers that the lists go to.
    pub(crate) fn uploads(self) -> [(Role, Joined<'a>); 2] {
        [(Role::Begins, self.begins.into()), (Role::Ends, self.ends.into())]
    }
}
