//! Code that is compiled for more than one set of vector instructions, of which the widest that the processor has is taken.
//!
//! What is computed is the same bits by all of them: no operation is fused with another.

/// Work that is made of loops over numbers: inlined, all of it.
pub(crate) trait Wide {
    /// Does it.
    fn run(self);
}

#[cfg(target_arch = "x86_64")]
pulp::simd_type! {
    /// Registers of 8 numbers, and half precision widened by an instruction.
    struct Avx2 {
        pub avx: "avx",
        pub avx2: "avx2",
        pub f16c: "f16c",
    }
}

#[cfg(target_arch = "x86_64")]
struct Work<W>(W);

#[cfg(target_arch = "x86_64")]
impl<W: Wide> pulp::NullaryFnOnce for Work<W> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.0.run();
    }
}

/// Does `work` by the widest instructions.
pub(crate) fn widest(work: impl Wide) {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = Avx2::try_new() {
        return avx2.vectorize(Work(work));
    }
    work.run();
}
