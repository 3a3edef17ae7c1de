//! Generated keys of several types: the speed of each backend, and of std's sorts.

use crate::bench::{Algorithm, Case, Measured, OURS, Op, Pattern, Payload, STD, measure, speed, systems};
use crate::dtype::{Dtype, with_key};
use crate::order::Direction;
use crate::outcome::Outcome;
use crate::progress::spin;
use anyhow::Result;
use polysort::AnyBackend;
use polysort_measure::Verdict;
use std::io::Write;

/// The cases: name, operation, key type and payload.
const CASES: [(&str, Op, Dtype, Payload); 8] = [
    ("u32", Op::Sort, Dtype::U32, Payload::None),
    ("f32", Op::Sort, Dtype::F32, Payload::None),
    ("u64", Op::Sort, Dtype::U64, Payload::None),
    ("i64", Op::Sort, Dtype::I64, Payload::None),
    ("f64", Op::Sort, Dtype::F64, Payload::None),
    ("u16", Op::Sort, Dtype::U16, Payload::None),
    ("u32 with u32", Op::SortPairs, Dtype::U32, Payload::U32),
    ("argsort f32", Op::Argsort, Dtype::F32, Payload::None),
];

/// Sorts every case on every backend and prints a line for each.
pub(crate) fn show(out: &mut dyn Write, backends: &[AnyBackend], quick: bool) -> Result<Outcome> {
    // Few runs give a rough speed. `bench` measures more exactly.
    let (len, reps) = if quick { (1 << 16, 5) } else { (1 << 24, 2) };
    let mut outcome = Outcome::Fine;
    writeln!(out, "\n{len} generated keys, every bit random, and the speed of the fastest of std's sorts\n")?;
    write!(out, "{:<14}{:>18}", "", "std")?;
    backends.iter().try_for_each(|backend| write!(out, "{:>26}", backend.kind()))?;
    writeln!(out)?;
    let backends: Vec<_> = backends.iter().map(|backend| (backend.clone(), Algorithm::Auto)).collect();
    for (name, op, dtype, payload) in CASES {
        let case = Case { op, dtype, payload, pattern: Pattern::Uniform, direction: Direction::Asc, len };
        let measured = with_key!(dtype, K => {
            let mut systems = systems::<K>(&case, &backends);
            systems.retain(|of| [OURS, STD].contains(&of.system));
            spin(case.to_string(), || measure(&case, &systems, reps, 1))
        });
        let (ours, std): (Vec<_>, Vec<_>) = measured.into_iter().partition(|of| of.system == OURS);
        let std = std.iter().map(Measured::median).min().expect("std sorts everything");
        write!(out, "{name:<14}{}", speed(len, std))?;
        for of in &ours {
            write!(out, "{:>26}", shown(of, len, std))?;
            if !of.series.is_verified() {
                outcome = Outcome::Failed;
            }
        }
        writeln!(out)?;
    }
    Ok(outcome)
}

/// Returns a cell of the table: the speed, and that speed over the speed of std.
fn shown(of: &Measured, len: usize, std: u64) -> String {
    match &of.series.verdict {
        Verdict::Verified => format!("{}{:>7.1}x", speed(len, of.median()), std as f64 / of.median().max(1) as f64),
        Verdict::Wrong => "WRONG ANSWER".into(),
        Verdict::Failed(why) => format!("  failed: {why}"),
    }
}
