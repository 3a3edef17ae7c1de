//! Tiles that tests keep from publishing their counts.

/// Blocked tiles: they publish no counts, so that other workgroups have to recount them. Tests use this to simulate a
/// device that does not schedule a workgroup. A tile is blocked if its number is at least `from` and less than `until`, and
/// leaves the remainder `phase` when divided by `every`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Blocked {
    /// The first tile that may be blocked.
    pub from: u32,
    /// The end of the tiles that may be blocked.
    pub until: u32,
    /// One in this many tiles is blocked; at least 1.
    pub every: u32,
    /// The remainder of a blocked tile's number when divided by `every`.
    pub phase: u32,
}

impl Blocked {
    /// No tile is blocked.
    pub const NONE: Self = Self { from: 0, until: 0, every: 1, phase: 0 };

    /// Returns a range of blocked tiles: from `from` to before `until`.
    pub const fn run(from: u32, until: u32) -> Self {
        Self { from, until, every: 1, phase: 0 }
    }

    /// Returns blocked tiles of which there is one in `every` tiles.
    pub const fn one_of(every: u32) -> Self {
        Self { from: 0, until: u32::MAX, every, phase: every / 2 }
    }

    /// Returns whether a tile is blocked.
    pub fn contains(&self, tile: u32) -> bool {
        (self.from..self.until).contains(&tile) && tile % self.every == self.phase
    }
}

impl Default for Blocked {
    fn default() -> Self {
        Self::NONE
    }
}
