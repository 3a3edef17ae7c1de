//! The contract of a device that sorts.

use crate::global::DEVICES;
use crate::{AnyOperation, Error, Limits, MaybeSend, Spec, Word, with_word};
use bytemuck::Pod;

/// A device that sorts words: all cores, a GPU, or anything else that has the two required sorts.
///
/// A backend is a cheap handle that is cloned freely; [`global`](Backend::global) returns a handle to a device that is opened once. A backend gets raw
/// words and a [`Spec`], never key types. Users call the methods of [`Sort`](crate::Sort), which every backend has.
///
/// # What an implementor guarantees
/// * Sorts are **stable** in the order of the spec, for every direction and window.
/// * On an error the slices are exactly as they were, and the next call works.
/// * Each call checks its spec ([`Spec::check`]) and refuses slices of unequal length. No input causes a panic.
///
/// # What a caller may assume
/// The result depends on the input alone: every backend gives the same answer, bit for bit. A [partial sort](crate::Operation::PartialSort) alone leaves the order
/// of the other keys open.
///
/// # Example
/// The required methods alone. The provided methods build on them; a backend overrides those that its device does better. The crate `polysort-kit`
/// tests a backend with one line.
/// ```
/// use polysort_core::{Backend, Error, Limits, Sort, Spec, Word};
///
/// #[derive(Clone)]
/// struct Std;
///
/// impl Backend for Std {
///     fn open() -> Result<Self, Error> { Ok(Std) }
///     fn name(&self) -> String { "std".into() }
///     fn limits(&self) -> Limits { Limits::default() }
///
///     fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
///         spec.check::<W>()?;
///         keys.sort_by_key(|&key| spec.rank(key));
///         Ok(())
///     }
///
///     fn sort_pairs_bits<W: Word, V: bytemuck::Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
///         spec.check_pairs::<W>(keys.len(), values.len())?;
///         let mut pairs: Vec<(W, V)> = keys.iter().copied().zip(values.iter().copied()).collect();
///         pairs.sort_by_key(|&(key, _)| spec.rank(key));
///         for ((key, value), pair) in keys.iter_mut().zip(values).zip(pairs) {
///             (*key, *value) = pair;
///         }
///         Ok(())
///     }
/// }
///
/// let mut keys = [2.0, -1.0, f32::NAN, -0.0, 0.0];
/// Std.sort(&mut keys)?;
/// assert_eq!(format!("{keys:?}"), "[-1.0, -0.0, 0.0, 2.0, NaN]");
/// # Ok::<(), Error>(())
/// ```
pub trait Backend: Clone + Send + Sync + 'static {
    /// Opens a device. Prefer [`global`](Backend::global), which opens it once.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if this machine has no such device, [`Error::SelfTest`] if the device sorts wrongly.
    fn open() -> Result<Self, Error>;

    /// The device's name, for people to read.
    fn name(&self) -> String;

    /// The largest input of one call. A call within these limits does not fail because of its size, unless memory runs out.
    fn limits(&self) -> Limits;

    /// Sorts `keys`, stably, in the order of `spec`.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a window outside the word, [`Error::TooLong`] for more keys than the device takes, or a failure of the device.
    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error>;

    /// Sorts `keys` as [`sort_bits`](Backend::sort_bits) does and moves each value with its key.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the lengths differ, else as [`sort_bits`](Backend::sort_bits).
    fn sort_pairs_bits<W: Word, V: Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error>;

    /// Returns a handle to the shared device of this backend. The first call opens the device, and so does each call after a failure or a loss.
    ///
    /// # Errors
    /// As [`open`](Backend::open).
    fn global() -> Result<Self, Error> {
        DEVICES.get(Self::open, Self::is_lost)
    }

    /// Whether the device behind this handle is lost, so that [`global`](Backend::global) must open another one.
    fn is_lost(&self) -> bool {
        false
    }

    /// Returns a handle to a device in place of this one, which is lost. The default is the shared device of the type; a backend that was opened
    /// with settings of its own may open a device with the same settings.
    ///
    /// # Errors
    /// As [`open`](Backend::open).
    fn reopen(&self) -> Result<Self, Error> {
        Self::global()
    }

    /// Runs an operation: each call of [`Sort`](crate::Sort) comes here. The default runs every operation with the two required
    /// sorts. A backend overrides it for operations that its device does faster.
    ///
    /// An override matches every [`Operation`](crate::Operation), checks it with [`check`](AnyOperation::check), and has the two required
    /// sorts from [`sorts_by_run!`](crate::sorts_by_run).
    ///
    /// # Errors
    /// Those of [`AnyOperation::check`], [`Error::TooLong`] for more keys than the device takes, or a failure of the device. All slices then stay as they
    /// were, except `indices` and `offsets`, whose contents are then unspecified.
    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        with_word!(operation, operation => operation.by_two_sorts(self, spec))
    }

    /// Runs an operation while the caller's thread does something else. [`SortAsync`](crate::SortAsync) calls it. The default
    /// calls [`run`](Backend::run) in the first poll.
    ///
    /// A future that is dropped before it is ready leaves all slices as they were, except `indices` and `offsets`. A backend that has begun to write them may
    /// complete the operation instead, before the drop returns.
    ///
    /// # Errors
    /// As [`run`](Backend::run).
    fn run_async(&self, operation: AnyOperation<'_>, spec: Spec) -> impl Future<Output = Result<(), Error>> + MaybeSend {
        async move { self.run(operation, spec) }
    }
}

/// Defines the two required sorts in terms of [`run`](Backend::run), for a backend that implements `run`. Without an own `run`, they would call each other
/// for ever.
#[macro_export]
macro_rules! sorts_by_run {
    () => {
        fn sort_bits<W: $crate::Word>(&self, keys: &mut [W], spec: $crate::Spec) -> Result<(), $crate::Error> {
            $crate::Backend::run(self, $crate::Operation::Sort { keys, segments: None }.into(), spec)
        }

        fn sort_pairs_bits<W: $crate::Word, V: $crate::Pod>(
            &self,
            keys: &mut [W],
            values: &mut [V],
            spec: $crate::Spec,
        ) -> Result<(), $crate::Error> {
            let values = $crate::ValuesMut::of(values);
            $crate::Backend::run(self, $crate::Operation::SortPairs { keys, values, segments: None }.into(), spec)
        }
    };
}
