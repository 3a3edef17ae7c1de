//! The limits of a GPU are those of its plans.

use polysort_core::{Error, Masks, Spec};
use polysort_shaders::plan::{Facts, Request, SortPlan};

/// A GPU sorts as many keys of each size as its limits say, and no more.
#[test]
fn a_gpu_takes_what_its_limits_say() {
    for max_binding in [1 << 12, 128 << 20, 1 << 31, 1 << 40] {
        let facts = Facts { max_binding, ..Facts::new(Some((32, 32)), 32 << 10, 256) };
        for value_words in 0..=4 {
            for key_bits in [8, 16, 32, 64, 128] {
                let longest = facts.limits(value_words).longest(key_bits as usize / 8);
                let plan = |max| {
                    let spec = Spec::new::<u128>(Masks::UNSIGNED, 0, key_bits)?;
                    let request = Request::keys(key_bits, spec, max);
                    SortPlan::new(if value_words == 0 { request } else { request.with_values(value_words) }, &facts)
                };
                assert!(plan(longest).is_ok(), "{longest} keys of {key_bits} bits, {max_binding} bytes of a binding");
                assert!(
                    matches!(plan(longest + 1), Err(Error::TooLong { .. })),
                    "{longest} keys of {key_bits} bits and one more"
                );
            }
        }
    }
}
