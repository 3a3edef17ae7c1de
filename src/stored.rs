//! What is stored of a machine: the costs of sorts on its devices, and the shapes of passes that are fast on its GPUs.

#[cfg(feature = "calibration")]
mod text;

use crate::costs::Measured;
#[cfg(feature = "calibration")]
use polysort_shaders::plan::Tuned;
#[cfg(feature = "calibration")]
use std::collections::BTreeMap;

/// What is stored of a machine. Without the feature `calibration` nothing is stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stored {
    pub(crate) measured: Option<Measured>,
    /// Shapes by the device, as [`AnyBackend::device`](crate::AnyBackend) names it.
    #[cfg(feature = "calibration")]
    pub(crate) tuned: BTreeMap<String, Tuned>,
}
