//! What a plan knows of a device.

use super::class::Class;
use super::command::Command;
use super::digit::{MAX_KEYS, RADIX};
use super::ranked_tile::{Ballot, Ranking};
use super::request::Request;
use super::tuned::Tuned;
use super::tuning::{self, COUNTER_GROUP, UNROLLED_LANES};
use super::variant::Variant;
use polysort_core::{Error, Limits};

/// The properties of a device that a plan depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The smallest and the largest subgroup that a kernel may run with; `None` without subgroup operations.
    pub subgroups: Option<(u32, u32)>,
    /// Bytes of workgroup memory.
    pub workgroup_bytes: u32,
    /// The most threads of a workgroup.
    pub max_group: u32,
    /// The most workgroups in each dimension of a launch.
    pub max_groups: u32,
    /// The most bytes of a binding.
    pub max_binding: u64,
    /// The class of the device, which selects its row in the table of architectures.
    pub class: Class,
    /// Shapes of passes that were measured on this device. The plan uses them instead of the built-in ones.
    pub tuned: Tuned,
}

impl Facts {
    /// Returns facts for tests of plans: class [`Class::Nvidia`], 2^16 - 1 workgroups in each dimension of a launch, bindings of
    /// 2 GiB.
    pub const fn new(subgroups: Option<(u32, u32)>, workgroup_bytes: u32, max_group: u32) -> Self {
        let (max_groups, max_binding) = (65_535, 1 << 31);
        Self { subgroups, workgroup_bytes, max_group, max_groups, max_binding, class: Class::Nvidia, tuned: Tuned::NONE }
    }

    /// Checks that the device has workgroups of the size that some kernels have on every device. WebGPU guarantees this size.
    pub(super) fn check(&self) -> Result<(), Error> {
        let Self { max_group, max_groups, .. } = self;
        if *max_group >= RADIX && *max_groups > 0 {
            return Ok(());
        }
        let what =
            format!("a device with up to {max_groups} workgroups of up to {max_group} threads; kernels have {RADIX} threads");
        Err(Error::Unsupported { what })
    }

    /// Checks that a workgroup of each command fits the device.
    pub(super) fn check_commands<'c>(&self, mut commands: impl Iterator<Item = &'c Command>) -> Result<(), Error> {
        let Self { max_group, workgroup_bytes, .. } = *self;
        let exceeds = |variant: &Variant| variant.group > max_group || variant.workgroup_bytes() > workgroup_bytes;
        let Some(Command { variant, .. }) = commands.find(|command| exceeds(&command.variant)) else { return Ok(()) };
        let (name, group, bytes) = (variant.kernel().name(), variant.group, variant.workgroup_bytes());
        let what = format!(
            "a device with workgroups of {max_group} threads and {workgroup_bytes} bytes; those of {name} have {group} and {bytes}"
        );
        Err(Error::Unsupported { what })
    }

    /// Returns the number of keys that determines the shapes of a sort of up to `max` keys. On devices that compile slowly,
    /// it is the same for all lengths, so that all lengths share their kernels.
    pub(super) fn alike(&self, max: u64) -> u64 {
        if self.unrolls() { max } else { MAX_KEYS }
    }

    /// Returns whether the kernels' loops over a thread's keys are unrolled.
    pub(super) fn unrolls(&self) -> bool {
        self.subgroups.is_some_and(|(least, _)| least >= UNROLLED_LANES)
    }

    /// Returns whether this request has passes, or kernels of a segment sort, whose loops are not unrolled, although the device unrolls loops. They compile in
    /// less time, and run longer.
    pub fn rolls(&self, request: &Request) -> bool {
        request.quick && self.has_rolled_kernels()
    }

    /// Returns `variant`, with loops that are not unrolled if the request [`rolls`](Self::rolls).
    pub(super) fn rolled(&self, request: &Request, variant: Variant) -> Variant {
        if self.rolls(request) { variant.rolled() } else { variant }
    }

    /// Returns whether the loops of the single launch, which sorts up to `tile` keys, are not unrolled. That is so for a request of more keys: it seldom needs
    /// this launch, which should not take longest to compile.
    pub(super) fn rolls_single(&self, request: &Request, tile: u32) -> bool {
        request.max > tile.into() && self.has_rolled_kernels()
    }

    fn has_rolled_kernels(&self) -> bool {
        self.unrolls() && self.class.architecture().rolls.value
    }

    /// Returns whether subgroups of a pass count the keys of a usual digit with ballots ([`PassTile::runs`](super::PassTile::runs)).
    ///
    /// That requires independent subgroups. It is faster with 32 lanes: fewer lanes wait less for the counter of a contended
    /// digit, and with more lanes, ballots count all keys.
    pub(super) fn has_runs(&self) -> bool {
        self.class.has_independent_subgroups() && self.subgroups == Some((32, 32))
    }

    /// Returns the workgroup size for a ranking with ballots: `wanted` threads, or a half of that, and so on. The size must
    /// be a multiple of the largest subgroup. One subgroup histogram for each of the smallest subgroups must fit workgroup
    /// memory. Returns `None` if there is no such size.
    pub(super) fn ballot(&self, wanted: u32) -> Option<(u32, Ranking)> {
        self.ballot_in_rows(wanted, RADIX)
    }

    /// Returns the workgroup size for a ranking with counters.
    pub(super) fn counters(&self) -> (u32, Ranking) {
        (COUNTER_GROUP.min(self.max_group), Ranking::Counters)
    }

    /// The same as [`Self::ballot`], for subgroup histograms of `row` words.
    pub(super) fn ballot_in_rows(&self, wanted: u32, row: u32) -> Option<(u32, Ranking)> {
        let (least, most) = self.subgroups?;
        let mut group = wanted.min(self.max_group);
        // Subgroup histograms take at most three quarters of workgroup memory: other arrays need the rest.
        while group > most.max(16) && group / least * row * 4 > self.workgroup_bytes * 3 / 4 {
            group /= 2;
        }
        let rows = group / least.max(1);
        let fits = group >= most && group.is_multiple_of(most) && rows * row * 4 <= self.workgroup_bytes * 3 / 4;
        fits.then_some((group, Ranking::Ballot(Ballot { rows, wide: most > 32 })))
    }

    /// Returns the number of keys of 16 bits from which on this device sorts them by counting; `None` if it never does.
    pub(super) fn count_16(&self) -> Option<u64> {
        let fits = self.workgroup_bytes >= 4 * (1_u32 << 15).div_ceil(tuning::COUNT_16_SPANS);
        self.class.architecture().count_16.value.filter(|_| fits)
    }

    /// Returns the limits of a sort of keys with values of `value_words` words; 0 means no values.
    pub fn limits(&self, value_words: u32) -> Limits {
        let max_len = if value_words == 0 { MAX_KEYS } else { MAX_KEYS.min(self.max_binding / (4 * u64::from(value_words))) };
        let mut limits = Limits::default();
        (limits.max_len, limits.max_bytes) = (max_len, self.max_binding);
        // A shorter key or value takes a word while it is sorted.
        limits.min_element_bytes = 4;
        limits
    }
}
