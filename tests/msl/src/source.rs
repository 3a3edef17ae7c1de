//! Where the texts of the kernels of a plan come from.

#[path = "../../../shaders/tests/translated/mod.rs"]
mod translation;

use crate::kernel::Options;
use polysort_shaders::plan::Variant;
use polysort_shaders::prelude;

/// Texts for all variants of kernels.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Its name, for people.
    pub name: &'static str,
    /// The text of a variant. The entry point has the kernel's name, and binding `i` is `[[buffer(i)]]`.
    pub text: fn(&Variant) -> Text,
    /// `__METAL_VERSION__`, and whether by fast math.
    pub options: Options,
}

/// The text of a kernel.
#[derive(Clone, Debug)]
pub struct Text {
    /// In Metal's language.
    pub text: String,
    /// Whether one more buffer follows the bindings: the sizes of some of them, which naga's texts take and ours never look at.
    pub takes_sizes: bool,
}

impl Source {
    /// Ours, written by hand; naga's where there is none of ours.
    pub const NATIVE: Self = Self { name: "native", text: native, options: Options::metal(310) };

    /// What naga makes of our WGSL, word for word what wgpu gives to Metal.
    pub const NAGA: Self = Self { name: "naga's", text: |variant| translated(variant), options: Options::metal(320) };

    /// The same with loops that are not written out, which compile sooner.
    pub const NAGA_ROLLED: Self = Self {
        name: "naga's, rolled",
        text: |variant| translated(&Variant { unrolled: false, ..*variant }),
        options: Options::metal(320),
    };
}

fn native(variant: &Variant) -> Text {
    match prelude::msl(variant) {
        Some(text) => Text { text, takes_sizes: false },
        None => translated(variant),
    }
}

/// naga's translation, without run-time checks: our kernels need none, and the runner has its own.
fn translated(variant: &Variant) -> Text {
    Text { text: translation::metal(variant), takes_sizes: true }
}
