//! `Source`: the texts of the kernels of a plan, hand-written or translated.

#[path = "../../../shaders/tests/translated/mod.rs"]
mod translation;

use crate::options::Options;
use polysort_shaders::plan::Variant;
use polysort_shaders::prelude;

/// Texts for all variants of kernels.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The name of the source, for messages.
    pub name: &'static str,
    /// The text of a variant. The entry point has the kernel's name, and binding `i` is `[[buffer(i)]]`.
    pub text: fn(&Variant) -> Text,
    /// The options of the compilation.
    pub options: Options,
}

/// The text of a kernel.
#[derive(Clone, Debug)]
pub struct Text {
    /// The text, in Metal Shading Language.
    pub text: String,
    /// Whether one more buffer follows the bindings. naga's texts take the sizes of some bindings there; no kernel reads them.
    pub takes_sizes: bool,
}

impl Source {
    /// The native kernels, which are written by hand. Kernels without a native version are naga's translations.
    pub const NATIVE: Self = Self { name: "native", text: native, options: Options::metal(310) };

    /// naga's translations of the WGSL kernels. wgpu passes the same texts to Metal.
    pub const NAGA: Self = Self { name: "naga's", text: |variant| translated(variant), options: Options::metal(320) };

    /// naga's translations of kernels whose loops are not unrolled, so that they compile faster.
    pub const NAGA_ROLLED: Self =
        Self { name: "naga's, rolled", text: |variant| translated(&variant.rolled()), options: Options::metal(320) };
}

fn native(variant: &Variant) -> Text {
    match prelude::msl(variant) {
        Some(text) => Text { text, takes_sizes: false },
        None => translated(variant),
    }
}

/// Returns naga's translation, without run-time checks: the kernels do not need them, and the runner has its own checks.
fn translated(variant: &Variant) -> Text {
    Text { text: translation::metal(variant), takes_sizes: true }
}
