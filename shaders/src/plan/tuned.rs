//! Shapes of passes that were found on one device, which take the place of the built-in numbers there.

use super::shape::{Facts, Kernel, Variant, sweep};
use super::tuning::{COUNT_BITS, PassShape, spread};
use super::{MAX_KEYS, RADIX};
use core::fmt::{self, Display, Formatter};
use polysort_core::Error;

/// A kind of sorts whose passes share a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PassKind {
    /// Words of 32 bits of a key.
    pub key_words: u32,
    /// Words of 32 bits of a value, 0 for none.
    pub value_words: u32,
}

impl PassKind {
    /// Those that can be tuned.
    pub const ALL: [Self; 6] =
        [Self::new(1, 0), Self::new(1, 1), Self::new(2, 0), Self::new(1, 2), Self::new(2, 1), Self::new(2, 2)];

    /// Keys and values of so many words.
    pub const fn new(key_words: u32, value_words: u32) -> Self {
        Self { key_words, value_words }
    }
}

impl Display for PassKind {
    /// `u64+u32`
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bits = |words: u32| 32 * u64::from(words);
        write!(f, "u{}", bits(self.key_words))?;
        if self.value_words > 0 { write!(f, "+u{}", bits(self.value_words)) } else { Ok(()) }
    }
}

impl Display for PassShape {
    /// `256 threads of 28 keys in 2 slices`
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { group, keys, slices } = self;
        write!(f, "{group} threads of {keys} keys in {slices} slices")
    }
}

/// The shape of passes for each kind of sorts, where it is not the built-in one. Every shape in it is one that kernels can have; what of it fits
/// a device is the plan's to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tuned([Option<PassShape>; PassKind::ALL.len()]);

/// Threads of a group are a multiple of this: of the subgroups of most GPUs. Where they are larger, the plan takes another group.
const LANES: u32 = 32;

/// Threads of a group, at most: with [`MOST_KEYS`] each, a position in the tile has 16 bits.
const MOST_THREADS: u32 = 1 << 10;

/// Keys of a thread, at most: more than registers hold, and so few that those of a subgroup can be counted.
const MOST_KEYS: u32 = 62;

const _: () = assert!(MOST_THREADS * MOST_KEYS <= 1 << 16 && MOST_KEYS * LANES < 1 << COUNT_BITS);

impl Tuned {
    /// No shape but the built-in ones.
    pub const NONE: Self = Self([None; PassKind::ALL.len()]);

    /// With this shape for sorts of that kind.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a kind that is not one of [`PassKind::ALL`], and for a shape that no kernel has: threads are a multiple of 32 up to
    /// 1024, and below 256 a power of two, keys an even number up to 62, and slices no more than keys.
    pub fn with(mut self, kind: PassKind, shape: PassShape) -> Result<Self, Error> {
        let PassShape { group, keys, slices } = shape;
        // Each thread owns as many digits as the others, or none.
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

    /// With the built-in shape for sorts of that kind.
    #[must_use]
    pub fn without(self, kind: PassKind) -> Self {
        let mut shapes = PassKind::ALL.into_iter().zip(self.0);
        Self(core::array::from_fn(|_| shapes.next().and_then(|(known, shape)| shape.filter(|_| known != kind))))
    }

    /// The shape for sorts of that kind, if it is not the built-in one.
    pub fn shape(&self, kind: PassKind) -> Option<PassShape> {
        self.shapes().find(|&(known, _)| known == kind).map(|(_, shape)| shape)
    }

    /// All shapes, and what they are for.
    pub fn shapes(&self) -> impl Iterator<Item = (PassKind, PassShape)> {
        PassKind::ALL.into_iter().zip(self.0).filter_map(|(kind, shape)| Some((kind, shape?)))
    }

    /// The shape of a pass over up to `max` keys, of which few are spread over more groups.
    pub(super) fn pass(&self, kind: PassKind, max: u64) -> Option<PassShape> {
        self.shape(kind).map(|shape| PassShape { keys: spread(shape.keys, max), ..shape })
    }
}

impl Facts {
    /// The shape of the passes over many keys by [`Algorithm::OneSweep`](super::Algorithm::OneSweep), if subgroups suit it: the tuned one, or else
    /// the built-in one, as far as it fits the device. None for a kind that is not one of [`PassKind::ALL`].
    pub fn pass_shape(&self, kind: PassKind) -> Option<PassShape> {
        let PassKind { key_words, value_words } = PassKind::ALL.into_iter().find(|&known| known == kind)?;
        let shape = Variant { value_words, look_back: true, ..Variant::of(Kernel::Onesweep, 32 * key_words) };
        let Variant { group, keys, slices, .. } = sweep(shape, MAX_KEYS, self).ok().flatten()?;
        Some(PassShape { group, keys, slices })
    }
}
