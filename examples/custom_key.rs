//! Tests a key type of your own, sorts it, and sorts other items by it. `cargo run --example custom_key`

use polysort::laws;
use polysort::prelude::*;

/// A software version: sorted by major, minor, patch; a pre-release comes before its release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    major: u16,
    minor: u16,
    patch: u16,
    release: bool,
}

impl Sortable for Version {
    type Bits = u64;
    const WIDTH: u32 = 3 * 16 + 1;
    // A sort compares each key with what `from_bits` makes of its bits, so that no part of a key is ever lost.
    const IDENTICAL: Option<fn(Self, Self) -> bool> = Some(|a, b| a == b);

    fn to_bits(self) -> u64 {
        let [major, minor, patch] = [self.major, self.minor, self.patch].map(u64::from);
        major << 33 | minor << 17 | patch << 1 | u64::from(self.release)
    }

    fn from_bits(bits: u64) -> Self {
        Version { major: (bits >> 33) as u16, minor: (bits >> 17) as u16, patch: (bits >> 1) as u16, release: bits & 1 == 1 }
    }
}

/// A key by derive: its fields in order, one of them from the largest. The bits are packed: 3 for the stage, 1 and 32 for the optional number.
#[derive(Clone, Copy, Debug, PartialEq, Sortable)]
struct Ticket {
    stage: Stage,
    #[sortable(desc)]
    votes: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Sortable)]
enum Stage {
    Open,
    Planned,
    Review,
    Merged,
    Closed,
}

fn main() -> Result<(), Error> {
    // The test of the key, best kept among your own tests: edges of every field, and their neighbors.
    let edges = [0, 1, 9, 10, u16::MAX];
    let samples: Vec<Version> = edges
        .iter()
        .flat_map(|&major| edges.map(|minor| (major, minor)))
        .flat_map(|(major, minor)| edges.map(|patch| (major, minor, patch)))
        .flat_map(|(major, minor, patch)| [false, true].map(|release| Version { major, minor, patch, release }))
        .collect();
    laws::check(&samples, Ord::cmp).expect("Version keeps the laws of a key");

    let mut versions = samples.clone();
    versions.reverse();
    Auto::global()?.sort(&mut versions)?;
    assert!(versions.is_sorted());

    // Other items by a version, newest first.
    let mut packages = vec![
        ("alpha", Version { major: 1, minor: 2, patch: 0, release: true }),
        ("beta", Version { major: 1, minor: 10, patch: 0, release: false }),
        ("gamma", Version { major: 1, minor: 10, patch: 0, release: true }),
    ];
    Auto::global()?.sort_by_key_with(&mut packages, |package| package.1, Options::descending())?;
    println!("{packages:#?}");
    assert_eq!(packages.iter().map(|package| package.0).collect::<Vec<_>>(), ["gamma", "beta", "alpha"]);

    let ticket = |stage, votes| Ticket { stage, votes };
    let mut tickets = [
        ticket(Stage::Review, Some(4)),
        ticket(Stage::Open, None),
        ticket(Stage::Closed, Some(9)),
        ticket(Stage::Open, Some(0)),
        ticket(Stage::Planned, None),
        ticket(Stage::Merged, Some(1)),
        ticket(Stage::Open, Some(7)),
    ];
    Auto::global()?.sort(&mut tickets)?;
    println!("{tickets:#?}");
    assert_eq!(tickets.map(|ticket| ticket.votes), [Some(7), Some(0), None, None, Some(4), Some(1), Some(9)]);
    Ok(())
}
