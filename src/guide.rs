//! The code in the guide is compiled and run. Each chapter with a block of Rust is listed here; `tests/guide.rs` checks that none is missing.

/// Each chapter is the documentation of an item, as rustdoc takes tests from documentation.
macro_rules! chapters {
    ($($item:ident: $file:literal,)*) => {$(
        #[doc = include_str!(concat!("../docs/guide/src/", $file))]
        struct $item;
    )*};
}

chapters! {
    Backends: "backends.md",
    Floats: "floats.md",
    Frame: "frame.md",
    Guarantees: "guarantees.md",
    Keys: "keys.md",
    LongCalls: "long-calls.md",
    Memory: "memory.md",
    Merge: "merge.md",
    Port: "port.md",
    Runs: "runs.md",
    Segments: "segments.md",
    Start: "start.md",
    Tuning: "tuning.md",
    Vectors: "vectors.md",
    WhyNoGpu: "why-no-gpu.md",
}
