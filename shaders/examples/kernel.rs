//! Prints a kernel as the text that a device gets.
//!
//! ```text
//! cargo run -p polysort-shaders --example kernel -- onesweep
//! cargo run -p polysort-shaders --example kernel -- onesweep msl 64 1
//! ```
//!
//! The arguments are the kernel, the language, bits of a key (8 to 128, 32 by default) and words of a value (0 to 4, 0 by
//! default). The languages are:
//! - `wgsl`, the default;
//! - `msl`, the hand-written version for Apple's GPUs;
//! - `translated`, naga's translation of the WGSL for Metal.
//!
//! The text is that of the first plan that launches the kernel on a GPU with 32 lanes. If none does, it is that for a GPU
//! without subgroups.

#[path = "../tests/translated/mod.rs"]
pub(crate) mod translated;

use polysort_core::{Error, Masks, Spec};
use polysort_shaders::plan::{
    Algorithm, Facts, FindRuns, Gather, Kernel, MergePlan, MergeRequest, Payload, Place, Request, SearchPlan, Segmented,
    SortPlan, Top, Variant,
};
use polysort_shaders::prelude;
use polysort_vector::{Metric, Shape};

/// The languages of the texts.
pub(crate) const LANGUAGES: [&str; 3] = ["wgsl", "msl", "translated"];

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize, default| arguments.get(index).map_or(default, String::as_str);
    let number =
        |index, default| argument(index, default).parse().map_err(|_| format!("{} is no number", argument(index, default)));
    let (name, language) = (argument(0, ""), argument(1, LANGUAGES[0]));
    let Some(kernel) = Kernel::ALL.into_iter().find(|kernel| kernel.name() == name) else {
        return Err(format!("`{name}` is no kernel; the kernels are {}", Kernel::ALL.map(Kernel::name).join(" ")));
    };
    print!("{}", text(kernel, language, number(2, "32")?, number(3, "0")?)?);
    Ok(())
}

/// Returns the text of a kernel in a language, for keys of `key_bits` bits with values of `value_words` words.
///
/// # Errors
/// A message if the kernel does not exist in this language, or not for these keys and values.
pub(crate) fn text(kernel: Kernel, language: &str, key_bits: u32, value_words: u32) -> Result<String, String> {
    let variant = variant(kernel, key_bits, value_words).map_err(|error| error.to_string())?;
    let name = kernel.name();
    let variant = variant.ok_or(format!("no sort of keys of {key_bits} bits with {value_words} words each uses `{name}`"))?;
    match language {
        "wgsl" => Ok(prelude::wgsl(&variant)),
        "msl" => prelude::msl(&variant).ok_or(format!("`{name}` has no hand-written version; Metal gets the translated one")),
        "translated" => Ok(translated::metal(&variant)),
        _ => Err(format!("`{language}` is no language; the languages are {}", LANGUAGES.join(" "))),
    }
}

/// Returns the first variant of a kernel among plans for these keys and values.
pub(crate) fn variant(kernel: Kernel, key_bits: u32, value_words: u32) -> Result<Option<Variant>, Error> {
    let payload = if value_words == 0 { Payload::None } else { Payload::Words(value_words) };
    let keys = Request { payload, ..Request::keys(key_bits, Spec::new::<u128>(Masks::UNSIGNED, 0, key_bits)?, 1 << 24) };
    let odd = Request { keys: Place { first: 1 }, ..keys };
    let segments = Segmented { max: 1000, begins: Place::default(), ends: Place::default() };
    let selections = [100, 100_000].map(|k| keys.select(Top { k, segmented: false }));
    let all = Some(Place::default());
    let runs = FindRuns { count: Place::default(), unique: all, offsets: all, lengths: all };
    let runs = Request { payload: Payload::None, ..keys }.find_runs(runs);
    let element_bytes = if key_bits < 32 { key_bits / 8 } else { 4 };
    let gather = Gather { element_bytes, elements: 1 << 24, from: Place::default(), to: Place::default() };
    let gather = Request::keys(32, Spec::unsigned::<u32>(), 1 << 24).gather(gather);
    let of_each = keys.select(Top { k: 100, segmented: true }).in_segments(segments);
    let in_segments = keys.in_segments(segments);
    let wide = keys.for_indices().with_wide_indices(Place::default());
    let requests = [keys, keys.for_indices(), odd, selections[0], selections[1], in_segments, runs, gather, of_each, wide];
    let forced = [Algorithm::ReduceThenScan, Algorithm::MsdHybrid, Algorithm::Counting].map(Some);
    for facts in [Facts::new(Some((32, 32)), 48 << 10, 1024), Facts::new(None, 16 << 10, 256)] {
        for request in requests {
            for algorithm in [None].into_iter().chain(forced) {
                let plan = match SortPlan::new(Request { algorithm, ..request }, &facts) {
                    Err(Error::Unsupported { .. }) if algorithm.is_some() => continue,
                    plan => plan?,
                };
                let found = plan.all_commands().find(|command| command.variant.kernel() == kernel);
                if let Some(command) = found {
                    return Ok(Some(command.variant));
                }
            }
        }
        if let Ok(merge) = MergePlan::new(MergeRequest { payload, ..MergeRequest::keys(key_bits, keys.spec, [1, 1]) }, &facts)
            && let Some(command) = merge.commands().into_iter().find(|command| command.variant.kernel() == kernel)
        {
            return Ok(Some(command.variant));
        }
        let SearchPlan { distances, nearest } = SearchPlan::new(Shape::new(128, 1), Metric::L2, &facts);
        if let Some(command) = [distances, nearest].into_iter().find(|command| command.variant.kernel() == kernel) {
            return Ok(Some(command.variant));
        }
    }
    Ok(None)
}
