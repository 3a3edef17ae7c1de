//! `Tuned`: shapes of passes that were measured on one device. On that device they replace the built-in ones.

use super::digit::RADIX;
use super::tuning::{COUNT_BITS, PassShape, spread};
use core::fmt::{self, Display, Formatter};
use polysort_core::Error;

/// A kind of sorts whose passes have the same shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PassKind {
    /// Words of 32 bits of a key.
    pub key_words: u32,
    /// Words of 32 bits of a value; 0 without values.
    pub value_words: u32,
}

impl PassKind {
    /// The kinds that can be tuned.
    pub const ALL: [Self; 6] =
        [Self::new(1, 0), Self::new(1, 1), Self::new(2, 0), Self::new(1, 2), Self::new(2, 1), Self::new(2, 2)];

    /// Returns the kind of sorts of keys and values with these numbers of words.
    pub const fn new(key_words: u32, value_words: u32) -> Self {
        Self { key_words, value_words }
    }
}

impl Display for PassKind {
    /// For example `u64+u32`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bits = |words: u32| 32 * u64::from(words);
        write!(f, "u{}", bits(self.key_words))?;
        if self.value_words > 0 { write!(f, "+u{}", bits(self.value_words)) } else { Ok(()) }
    }
}

impl Display for PassShape {
    /// For example `256 threads of 28 keys in 2 slices`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { group, keys, slices } = self;
        write!(f, "{group} threads of {keys} keys in {slices} slices")
    }
}

/// The measured shape of passes for each kind of sorts, if it differs from the built-in one. Kernels exist for each of
/// these shapes. The plan reduces a shape that does not fit the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tuned([Option<PassShape>; PassKind::ALL.len()]);

/// The threads of a workgroup are a multiple of this: the subgroup size of most GPUs. If subgroups are larger, the plan
/// takes another workgroup size.
const LANES: u32 = 32;

/// The most threads of a workgroup. With [`MOST_KEYS`] keys each, an index in the tile fits 16 bits.
const MOST_THREADS: u32 = 1 << 10;

/// The most keys of a thread: more than fit registers, but few enough that the counts of a subgroup do not overflow.
const MOST_KEYS: u32 = 62;

const _: () = assert!(MOST_THREADS * MOST_KEYS <= 1 << 16 && MOST_KEYS * LANES < 1 << COUNT_BITS);

impl Tuned {
    /// No measured shapes.
    pub const NONE: Self = Self([None; PassKind::ALL.len()]);

    /// Returns these shapes with `shape` for sorts of this kind.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the kind is not one of [`PassKind::ALL`], or if no kernel can have the shape:
    /// - `group` must be a multiple of 32 up to 1024, and a power of two if it is below 256;
    /// - `keys` must be even and at most 62;
    /// - `slices` must be 1 to `keys`.
    pub fn with(mut self, kind: PassKind, shape: PassShape) -> Result<Self, Error> {
        let PassShape { group, keys, slices } = shape;
        // All threads sum up the counts of the same number of digit values, or some threads of none.
        let are_owners = group >= RADIX || RADIX.is_multiple_of(group);
        let is_group = group.is_multiple_of(LANES) && (LANES..=MOST_THREADS).contains(&group) && are_owners;
        let are_keys = keys.is_multiple_of(2) && (2..=MOST_KEYS).contains(&keys);
        match PassKind::ALL.iter().position(|&known| known == kind) {
            Some(place) if is_group && are_keys && (1..=keys).contains(&slices) => self.0[place] = Some(shape),
            Some(_) => return Err(Error::Unsupported { what: format!("passes by {shape}") }),
            None => return Err(Error::Unsupported { what: format!("tuned passes for {kind}") }),
        }
        Ok(self)
    }

    /// Returns these shapes with the built-in one for sorts of this kind.
    #[must_use]
    pub fn without(self, kind: PassKind) -> Self {
        let mut shapes = PassKind::ALL.into_iter().zip(self.0);
        Self(core::array::from_fn(|_| shapes.next().and_then(|(known, shape)| shape.filter(|_| known != kind))))
    }

    /// Returns the shape for sorts of this kind, if it is not the built-in one.
    pub fn shape(&self, kind: PassKind) -> Option<PassShape> {
        self.shapes().find(|&(known, _)| known == kind).map(|(_, shape)| shape)
    }

    /// Returns all measured shapes, with their kinds.
    pub fn shapes(&self) -> impl Iterator<Item = (PassKind, PassShape)> {
        PassKind::ALL.into_iter().zip(self.0).filter_map(|(kind, shape)| Some((kind, shape?)))
    }

    /// Returns the shape of a pass over up to `max` keys. Few keys are spread over more workgroups.
    pub(super) fn pass(&self, kind: PassKind, max: u64) -> Option<PassShape> {
        self.shape(kind).map(|shape| PassShape { keys: spread(shape.keys, max), ..shape })
    }
}
