//! How a workgroup ranks the keys of a tile.

/// A ranking with ballots: each subgroup has a histogram of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ballot {
    /// The number of subgroup histograms: the most subgroups of a workgroup.
    pub rows: u32,
    /// Whether subgroups can have more than 32 lanes.
    pub wide: bool,
}

/// The method by which a workgroup ranks the keys of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ranking {
    /// With ballots.
    Ballot(Ballot),
    /// With counters of each thread, without subgroup operations.
    Counters,
}

/// The tile of a kernel that ranks keys by a digit. All threads have the same number of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RankedTile {
    /// Keys per thread, at most.
    pub keys: u32,
    /// The method of ranking.
    pub ranking: Ranking,
    /// Whether loops over a thread's keys are unrolled. Some compilers put arrays that a loop indexes into memory.
    pub unrolled: bool,
}

/// The tile of a pass that may look back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PassTile {
    /// Its keys, and their ranking.
    pub ranked: RankedTile,
    /// Slices in which the tile goes through workgroup memory.
    pub slices: u32,
    /// Whether each subgroup looks for a usual digit, and counts its keys with ballots.
    pub runs: bool,
}

impl PassTile {
    /// Returns the keys of a thread in a slice.
    pub fn slice_keys(self) -> u32 {
        self.ranked.keys.div_ceil(self.slices)
    }
}
