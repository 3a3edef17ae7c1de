//! Kernels, and their shapes on a device.

use super::segments::SegmentShapes;
use super::tuning::{
    COPY_TILE, COUNTER_GROUP, COUNTER_KEYS, DIGIT_RUN, DISTANCE_RUN, GROUP, MOST_COLUMNS, PassShape, SELECT_KEYS, SELECT_SEGMENT,
    UNROLLED_LANES, WIDE_SLICES,
};
use super::{Algorithm, MAX_KEYS, PassKind, Payload, RADIX, RADIX_BITS, Request, SortPlan, Tuned, tuning};
use polysort_core::Error;
use polysort_vector::{Metric, Precision};

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
    /// The class of the device, which selects the numbers of [`tuning`].
    pub class: Class,
    /// Shapes of passes that were measured on this device. The plan uses them instead of the built-in ones.
    pub tuned: Tuned,
}

/// The architecture of a device, which selects the numbers of [`tuning`].
///
/// Apple's GPUs have numbers of their own. All others take those that were measured on an NVIDIA H200, until somebody measures them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// Apple's own GPUs.
    Apple,
    /// NVIDIA's GPUs.
    Nvidia,
    /// AMD's GPUs.
    Amd,
    /// Intel's GPUs.
    Intel,
    /// Drivers that run kernels on the CPU.
    Software,
    /// A device that none of the above describes.
    Unknown,
}

impl Class {
    /// Returns whether the subgroups of a workgroup can take different branches that contain subgroup barriers. On lavapipe,
    /// a software driver, such a barrier waits for the whole workgroup, and sorts crash or give wrong results. Unknown
    /// devices count as devices that cannot.
    pub fn has_independent_subgroups(self) -> bool {
        matches!(self, Self::Apple | Self::Nvidia | Self::Amd | Self::Intel)
    }
}

impl Facts {
    /// Returns facts for tests of plans: class [`Class::Nvidia`], 2^16 - 1 workgroups in each dimension of a launch, bindings of
    /// 2 GiB.
    pub const fn new(subgroups: Option<(u32, u32)>, workgroup_bytes: u32, max_group: u32) -> Self {
        let (max_groups, max_binding) = (65_535, 1 << 31);
        Self { subgroups, workgroup_bytes, max_group, max_groups, max_binding, class: Class::Nvidia, tuned: Tuned::NONE }
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

    /// Returns whether subgroups of a pass count the keys of a usual digit with ballots ([`Variant::runs`]).
    ///
    /// That requires independent subgroups. It is faster with 32 lanes: fewer lanes wait less for the counter of a contended
    /// digit, and with more lanes, ballots count all keys.
    fn has_runs(&self) -> bool {
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
    fn ballot_in_rows(&self, wanted: u32, row: u32) -> Option<(u32, Ranking)> {
        let (least, most) = self.subgroups?;
        let mut group = wanted.min(self.max_group);
        // Subgroup histograms take at most three quarters of workgroup memory: other arrays need the rest.
        while group > most.max(16) && group / least * row * 4 > self.workgroup_bytes * 3 / 4 {
            group /= 2;
        }
        let rows = group / least.max(1);
        let fits = group >= most && group.is_multiple_of(most) && rows * row * 4 <= self.workgroup_bytes * 3 / 4;
        fits.then_some((group, Ranking::Ballot { rows, wide: most > 32 }))
    }

    /// Returns the most keys that one workgroup can select. From an array, all workgroups together can select more. From
    /// segments, no more can be selected: sort the segments instead.
    pub fn most_selected(&self) -> u32 {
        let most = |algorithm| {
            let (group, ranking) = selecting(algorithm, self);
            let shape = fitted(Variant::of(Kernel::TopK, 32), group, SELECT_KEYS, ranking, self);
            shape.map_or(0, |shape| shape.tile)
        };
        most(None).min(most(Some(Algorithm::ReduceThenScan))).min(SELECT_SEGMENT / 4)
    }
}

/// The method by which a workgroup ranks the keys of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ranking {
    /// With ballots: each subgroup has a histogram of its own.
    Ballot {
        /// The number of subgroup histograms: the most subgroups of a workgroup.
        rows: u32,
        /// Whether subgroups can have more than 32 lanes.
        wide: bool,
    },
    /// With counters of each thread, without subgroup operations.
    Counters,
}

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

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each kernel's file documents it")]
pub enum Kernel {
    Begin,
    Histogram,
    Scan,
    CountValues,
    ScanValues,
    Onesweep,
    Buckets,
    BucketTile,
    BucketHistogram,
    BucketSweep,
    Upsweep,
    Spine,
    Downsweep,
    SingleTile,
    Segments,
    SegmentNetwork,
    SegmentTile,
    LongSegments,
    PickCount,
    PickDigit,
    PickTally,
    PickSpine,
    Pick,
    Copy,
    Identity,
    Widen,
    Narrow,
    Fill,
    TopK,
    IvfDistance,
    Nearest,
}

impl Kernel {
    /// All kernels.
    pub const ALL: [Self; 31] = [
        Self::Begin,
        Self::Histogram,
        Self::Scan,
        Self::CountValues,
        Self::ScanValues,
        Self::Onesweep,
        Self::Buckets,
        Self::BucketTile,
        Self::BucketHistogram,
        Self::BucketSweep,
        Self::Upsweep,
        Self::Spine,
        Self::Downsweep,
        Self::SingleTile,
        Self::Segments,
        Self::SegmentNetwork,
        Self::SegmentTile,
        Self::LongSegments,
        Self::PickCount,
        Self::PickDigit,
        Self::PickTally,
        Self::PickSpine,
        Self::Pick,
        Self::Copy,
        Self::Identity,
        Self::Widen,
        Self::Narrow,
        Self::Fill,
        Self::TopK,
        Self::IvfDistance,
        Self::Nearest,
    ];

    /// Returns the name of the kernel's file, entry point and label.
    pub fn name(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Histogram => "histogram",
            Self::Scan => "scan",
            Self::CountValues => "count_values",
            Self::ScanValues => "scan_values",
            Self::Onesweep => "onesweep",
            Self::Buckets => "buckets",
            Self::BucketTile => "bucket_tile",
            Self::BucketHistogram => "bucket_histogram",
            Self::BucketSweep => "bucket_sweep",
            Self::Upsweep => "upsweep",
            Self::Spine => "spine",
            Self::Downsweep => "downsweep",
            Self::SingleTile => "single_tile",
            Self::Segments => "segments",
            Self::SegmentNetwork => "segment_network",
            Self::SegmentTile => "segment_tile",
            Self::LongSegments => "long_segments",
            Self::PickCount => "pick_count",
            Self::PickDigit => "pick_digit",
            Self::PickTally => "pick_tally",
            Self::PickSpine => "pick_spine",
            Self::Pick => "pick",
            Self::Copy => "copy",
            Self::Identity => "identity",
            Self::Widen => "widen",
            Self::Narrow => "narrow",
            Self::Fill => "fill",
            Self::TopK => "top_k",
            Self::IvfDistance => "ivf_distance",
            Self::Nearest => "nearest",
        }
    }
}

/// A kernel with all constants that its text depends on. Fields that the kernel does not use are 0, so that equal texts
/// have equal variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// The kernel.
    pub kernel: Kernel,
    /// Bits of a key in the caller's buffer.
    pub key_bits: u32,
    /// Whether the kernel reads or writes packed keys of 8 or 16 bits.
    pub packed: bool,
    /// Bits of a digit.
    pub radix_bits: u32,
    /// Words of a value.
    pub value_words: u32,
    /// Whether the values are the indices of the keys. For `segment_network`: whether threads have the index of each key.
    pub indexed: bool,
    /// Threads of a workgroup.
    pub group: u32,
    /// Keys per thread, at most.
    pub keys: u32,
    /// Keys of a tile.
    pub tile: u32,
    /// Slices in which a tile goes through workgroup memory.
    pub slices: u32,
    /// Whether loops over a thread's keys are unrolled. Some compilers put arrays that a loop indexes into memory.
    pub unrolled: bool,
    /// The method of ranking a tile.
    pub ranking: Option<Ranking>,
    /// Whether the kernel clears, or uses, status words of look-back.
    pub look_back: bool,
    /// Whether the pass sorts by the most significant digit that varies, and not by the next one.
    pub partitions: bool,
    /// Keys of a batch, if the kernel works on buckets; 1 for segments.
    pub batch: u32,
    /// The most keys of a bucket, or of a segment, that one workgroup sorts.
    pub small_bucket: u32,
    /// For kernels that sort segments: the most keys of a segment that a thread of the network has in registers.
    pub network_keys: u32,
    /// Whether the kernel copies the keys that it counts.
    pub copies: bool,
    /// Whether a buffer specifies where segments begin and end.
    pub segmented: bool,
    /// Whether the kernel selects from indices that an earlier level has selected.
    pub nested: bool,
    /// Whether the kernel's binding of the keys is writable. It must be if the kernel writes indices to another part of the
    /// same buffer.
    pub aliased: bool,
    /// Whether each subgroup looks for a usual digit, and counts its keys with ballots.
    pub runs: bool,
    /// Words of the counters of a counting sort; 0 for other kernels.
    pub counters: u32,
    /// The vectors that the kernel works on.
    pub vectors: Option<Vectors>,
}

/// The constants of a kernel that works on vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Vectors {
    /// The metric of the distances.
    pub metric: Metric,
    /// The precision of the numbers in the store.
    pub precision: Precision,
    /// Whether threads read four numbers at a time.
    pub quads: bool,
    /// Threads of the team that reads a vector together.
    pub team: u32,
}

impl Vectors {
    /// Returns the number of sums from which a distance is computed.
    pub fn sums(self) -> u32 {
        if self.metric == Metric::Cosine { 3 } else { 1 }
    }
}

impl Variant {
    /// Returns a kernel for keys of `key_bits` bits, with the defaults of all other constants.
    pub(super) fn of(kernel: Kernel, key_bits: u32) -> Self {
        Self {
            kernel,
            key_bits,
            packed: false,
            radix_bits: RADIX_BITS,
            value_words: 0,
            indexed: false,
            group: 0,
            keys: 0,
            tile: 0,
            slices: 1,
            unrolled: false,
            ranking: None,
            look_back: false,
            partitions: false,
            batch: 0,
            small_bucket: 0,
            network_keys: 0,
            copies: false,
            segmented: false,
            nested: false,
            aliased: false,
            runs: false,
            counters: 0,
            vectors: None,
        }
    }

    /// Returns a kernel that moves the keys and values of a request.
    fn moving(kernel: Kernel, request: &Request) -> Self {
        let (value_words, indexed) = (request.payload.words(), request.payload == Payload::Indices);
        Self { value_words, indexed, ..Self::of(kernel, request.key_bits) }
    }

    /// Returns the words that a key takes while it is sorted.
    pub fn key_words(&self) -> u32 {
        self.key_bits.div_ceil(32)
    }

    /// Number of values of a digit.
    pub fn radix(&self) -> u32 {
        1 << self.radix_bits
    }

    /// Whether digits are wide: more bits than [`RADIX_BITS`].
    pub fn has_wide_digits(&self) -> bool {
        self.radix_bits > RADIX_BITS
    }

    /// The most digits of a key.
    pub fn key_digits(&self) -> u32 {
        self.key_words() * self.key_bits.min(32).div_ceil(self.radix_bits)
    }

    /// Returns whether two counts share a word. They do for wide digits, and for histograms of 16 digits, which would
    /// otherwise take all workgroup memory of the smallest devices.
    pub fn packs_counts(&self) -> bool {
        self.has_wide_digits() || self.key_bits == 128 && matches!(self.kernel, Kernel::Histogram | Kernel::BucketHistogram)
    }

    /// Returns the workgroups of a team of a counting sort. Each of them counts a span of the values of a key. A span has as
    /// many values as there are counters, two of 16 bits in each word.
    pub fn spans(&self) -> u32 {
        if self.counters > 0 && self.packs_counts() { self.radix().div_ceil(2 * self.counters) } else { 1 }
    }

    /// Returns the words of the counts of all values of a digit, bank padding included.
    pub fn row_words(&self) -> u32 {
        match self.radix() {
            radix if self.packs_counts() => radix / 2,
            radix if self.runs => radix + radix / tuning::BANKS,
            radix => radix,
        }
    }

    /// Keys of a thread in a slice.
    pub fn slice_keys(&self) -> u32 {
        self.keys.div_ceil(self.slices)
    }

    /// Returns the keys of a slice that a thread reads before it writes them. They divide the thread's keys of a slice.
    pub fn chunk(&self) -> u32 {
        (1..=tuning::MAX_CHUNK).rev().find(|&chunk| self.slice_keys().is_multiple_of(chunk)).unwrap_or(1)
    }

    /// Keys of a tile in a slice.
    pub fn slice(&self) -> u32 {
        self.group * self.slice_keys()
    }

    /// Returns the words of the array in workgroup memory in which a tile is sorted (`board` in the kernels).
    pub fn board_words(&self) -> u32 {
        let counters = match self.ranking {
            Some(Ranking::Ballot { rows, .. }) => rows * self.row_words(),
            Some(Ranking::Counters) => 8 * self.group + self.tile,
            None => return 0,
        };
        // These kernels have their keys in registers. They reorder the keys in `board`, one word of all keys at a time.
        if matches!(self.kernel, Kernel::SingleTile | Kernel::BucketTile | Kernel::SegmentTile) {
            counters.max(self.tile)
        } else if self.kernel == Kernel::TopK {
            // First the counts of a digit and sums of some counts; later two bits for each of 32 keys of a thread.
            counters.max(RADIX + RADIX / DIGIT_RUN).max(2 * self.group)
        } else {
            // The offsets of wide digits follow the slice in the same array. An array of their own would take as much
            // memory as two subgroup histograms.
            let behind = if self.has_wide_digits() { self.radix() } else { 0 };
            counters.max(self.slice() * self.key_words().max(self.value_words) + behind)
        }
    }

    /// Returns the bytes of workgroup memory of all arrays and variables, each rounded up to 16.
    pub fn workgroup_bytes(&self) -> u32 {
        let ranking = match self.ranking {
            Some(Ranking::Ballot { rows, .. }) => rows * if self.has_wide_digits() { self.row_words() / self.group } else { 1 },
            Some(Ranking::Counters) => self.group + RADIX + 4,
            None => 0,
        };
        let own = match self.kernel {
            Kernel::Histogram => self.key_digits() * self.row_words() + 8,
            Kernel::CountValues => self.counters.next_multiple_of(4),
            Kernel::Onesweep if self.has_wide_digits() => 8,
            Kernel::Onesweep => RADIX + 8,
            Kernel::BucketSweep => RADIX + 12,
            Kernel::Downsweep => RADIX + 4,
            Kernel::SingleTile | Kernel::BucketTile | Kernel::SegmentTile => 4,
            Kernel::IvfDistance => DISTANCE_RUN * self.vectors.map_or(0, Vectors::sums) * self.group,
            // The indices, the segment, the digit, and the sums over the threads, unless the ranking includes them.
            Kernel::TopK => self.tile + 8 + if self.ranking == Some(Ranking::Counters) { 0 } else { self.group },
            _ => 0,
        };
        4 * (self.board_words() + ranking.next_multiple_of(4) + own)
    }
}

/// The shapes of the kernels of one sort.
pub(super) struct Shapes {
    pub(super) onesweep: Option<Variant>,
    pub(super) bucket_sweep: Option<Variant>,
    pub(super) bucket_tile: Option<Variant>,
    pub(super) segments: Option<SegmentShapes>,
    pub(super) downsweep: Variant,
    pub(super) single: Variant,
    pub(super) plain: Variant,
    pub(super) histogram: Variant,
    pub(super) count_values: Option<Variant>,
    pub(super) top: Variant,
}

impl Shapes {
    pub(super) fn new(request: &Request, radix_bits: u32, facts: &Facts) -> Result<Self, Error> {
        let (counters_group, counters) = facts.counters();
        let base = Variant::moving(Kernel::Begin, request);
        // The passes sort keys of 8 and 16 bits as words of 32 bits.
        let pass = Variant { key_bits: 32 * request.key_words(), ..base };
        let max = facts.alike(request.max);
        let pass_of = |kernel| sweep(Variant { kernel, look_back: true, radix_bits, ..pass }, max, facts);
        let mut onesweep = pass_of(Kernel::Onesweep)?;
        let (mut bucket_sweep, mut bucket_tile) = (None, None);
        if request.algorithm == Some(Algorithm::MsdHybrid) {
            // All passes have the tile of bucket_sweep, which needs more memory. Its passes are never the first one, so
            // their values are never the indices of the keys.
            let shape = pass_of(Kernel::BucketSweep)?;
            onesweep = shape.map(|shape| Variant { kernel: Kernel::Onesweep, partitions: true, ..shape });
            bucket_sweep =
                shape.map(|shape| Variant { indexed: false, batch: SortPlan::keys_of_batch(request, facts.class), ..shape });
        }
        let downsweep = fitted(Variant { kernel: Kernel::Downsweep, ..pass }, counters_group, COUNTER_KEYS, counters, facts)?;
        let single = single(request, max, facts)?;
        if bucket_sweep.is_some() && single.ranking != Some(counters) {
            let small_bucket = request.small_bucket.unwrap_or(single.tile).min(single.tile);
            bucket_tile = Some(Variant { kernel: Kernel::BucketTile, indexed: false, small_bucket, ..single });
        }
        let plain = Variant { key_bits: 32, value_words: 0, indexed: false, group: GROUP.min(facts.max_group), ..base };
        let histogram =
            Variant { kernel: Kernel::Histogram, key_bits: request.key_bits, packed: request.is_packed(), radix_bits, ..plain };
        let most = if histogram.packs_counts() { tuning::MAX_KEYS_IN_HALVES } else { u32::MAX };
        let histogram = Variant { keys: tuning::histogram_keys(max).min(most), ..histogram };
        if histogram.has_wide_digits() && histogram.workgroup_bytes() > facts.workgroup_bytes {
            return Err(no_wide_digits(facts));
        }
        let values = Variant { kernel: Kernel::CountValues, radix_bits: request.key_bits, ..histogram };
        let count_values = request.is_packed().then(|| counting(values, facts));
        let top = top_shape(Variant { kernel: Kernel::TopK, value_words: 0, indexed: false, ..single }, request, facts)?;
        let segments = request.segments.map(|_| SegmentShapes::new(request, facts)).transpose()?;
        Ok(Self { onesweep, bucket_sweep, bucket_tile, segments, downsweep, single, plain, histogram, count_values, top })
    }

    /// Keys of a tile of the passes.
    pub(super) fn pass_tile(&self, algorithm: Algorithm) -> u32 {
        match &self.onesweep {
            _ if algorithm == Algorithm::Counting => self.count_values.map_or(0, |shape| shape.tile),
            Some(onesweep) if algorithm.looks_back() => onesweep.tile,
            _ => self.downsweep.tile,
        }
    }

    /// Returns a kernel that copies.
    pub(super) fn copying(&self, kernel: Kernel) -> Variant {
        Variant { kernel, tile: COPY_TILE, ..self.plain }
    }
}

/// Returns the shape of the single launch for up to `max` keys, or for as many keys as fit.
pub(super) fn single(request: &Request, max: u64, facts: &Facts) -> Result<Variant, Error> {
    let shape = Variant { packed: request.is_packed(), ..Variant::moving(Kernel::SingleTile, request) };
    held(shape, max, true, facts)
}

/// Returns the shape of a workgroup that has up to `max` keys in registers until they are sorted. If fewer keys fit, it has
/// fewer. It ranks with ballots if `ballots` is set and the subgroups suit it.
pub(super) fn held(shape: Variant, max: u64, ballots: bool, facts: &Facts) -> Result<Variant, Error> {
    let (group, keys) = tuning::single(shape.key_words(), shape.value_words, max);
    let (group, ranking) = facts.ballot(group).filter(|_| ballots).unwrap_or(facts.counters());
    fitted(shape, group, keys, ranking, facts)
}

/// Returns the shape of a pass with look-back, if the subgroups suit it. `max` is the number of keys that [decides the
/// shape](Facts::alike).
pub(super) fn sweep(shape: Variant, max: u64, facts: &Facts) -> Result<Option<Variant>, Error> {
    if shape.has_wide_digits() {
        return wide(shape, max, facts).map(Some);
    }
    let kind = PassKind::new(shape.key_words(), shape.value_words);
    let shape = Variant { runs: facts.has_runs(), ..shape };
    let made = |PassShape { group, keys, slices }: PassShape| {
        let ballot = facts.ballot(group).or_else(|| facts.ballot(GROUP));
        ballot.map(|(group, ranking)| fitted(Variant { slices, ..shape }, group, keys, ranking, facts)).transpose()
    };
    if let Some(tuned) = facts.tuned.pass(kind, max) {
        return made(tuned);
    }
    // The shapes for large inputs were measured for OneSweep only. A device that uses one shape for all lengths must not
    // use them, nor a device on which they do not fit.
    let large = tuning::large_pass(facts.class, kind.key_words, kind.value_words, max)
        .filter(|_| shape.kernel == Kernel::Onesweep && facts.unrolls())
        .and_then(|large| made(large).ok().flatten().filter(|made| (made.group, made.keys) == (large.group, large.keys)));
    match large {
        Some(large) => Ok(Some(large)),
        None => made(tuning::pass(facts.class, kind.key_words, kind.value_words, max)),
    }
}

/// Returns `shape` with the most keys per thread, up to `keys`, that fit workgroup memory.
pub(super) fn fitted(shape: Variant, group: u32, keys: u32, ranking: Ranking, facts: &Facts) -> Result<Variant, Error> {
    let unrolled = facts.unrolls();
    (1..=keys)
        .rev()
        .map(|keys| Variant { group, keys, tile: group * keys, unrolled, ranking: Some(ranking), ..shape })
        .find(|shape| shape.workgroup_bytes() <= facts.workgroup_bytes)
        .ok_or_else(|| Error::Unsupported { what: format!("a device with {} bytes of workgroup memory", facts.workgroup_bytes) })
}

/// Returns the shape of a pass with wide digits.
fn wide(shape: Variant, max: u64, facts: &Facts) -> Result<Variant, Error> {
    let shape = Variant { slices: WIDE_SLICES, ..shape };
    let (group, keys) = tuning::wide_pass(shape.key_words(), shape.value_words, max);
    // Each thread sums up the same number of words of the subgroup histograms.
    let ballot = facts.ballot_in_rows(group, shape.row_words()).filter(|(group, _)| shape.row_words().is_multiple_of(*group));
    let (group, ranking) = ballot.ok_or_else(|| no_wide_digits(facts))?;
    fitted(shape, group, keys, ranking, facts)
}

/// Returns the shape of the kernel that counts whole keys. It has as many counters as fit workgroup memory, but no more than
/// it needs.
fn counting(shape: Variant, facts: &Facts) -> Variant {
    let group = tuning::COUNT_GROUP.min(facts.max_group);
    let shape = Variant { group, keys: tuning::HISTOGRAM_BATCH * (32 / shape.key_bits).max(1), ..shape };
    let shape = Variant { tile: group * shape.keys, ..shape };
    let fit = facts.workgroup_bytes / 4;
    let counters = if shape.packs_counts() {
        // All spans have the same number of counters.
        (shape.radix() / 2).div_ceil((shape.radix() / 2).div_ceil(fit))
    } else {
        shape.radix() * (fit / shape.radix()).clamp(1, MOST_COLUMNS)
    };
    Variant { counters, ..shape }
}

fn no_wide_digits(facts: &Facts) -> Error {
    let Facts { subgroups, workgroup_bytes, .. } = facts;
    let what =
        format!("wide digits on a device with {workgroup_bytes} bytes of workgroup memory and subgroups of {subgroups:?} lanes");
    Error::Unsupported { what }
}

/// Returns the workgroup size and the ranking of a selection. If the algorithm is `ReduceThenScan`, the ranking has no
/// subgroup operations.
fn selecting(algorithm: Option<Algorithm>, facts: &Facts) -> (u32, Ranking) {
    let ballot = facts.ballot(GROUP).filter(|_| algorithm != Some(Algorithm::ReduceThenScan));
    ballot.unwrap_or(facts.counters())
}

/// Returns the shape of the kernel that selects the keys of a request. It has the smallest tile that the selected keys fit:
/// the less memory a workgroup takes, the more workgroups run at a time.
fn top_shape(shape: Variant, request: &Request, facts: &Facts) -> Result<Variant, Error> {
    let Some(top) = request.top else { return Ok(shape) };
    let most = facts.most_selected();
    if top.k > most {
        // From an array, all workgroups together select this many keys.
        if !top.segmented {
            return Ok(Variant { tile: 0, ..shape });
        }
        return Err(Error::Unsupported {
            what: format!("a selection of {} keys of each segment; this device selects at most {most}", top.k),
        });
    }
    let (group, ranking) = selecting(request.algorithm, facts);
    let keys = top.k.div_ceil(group).next_power_of_two().min(SELECT_KEYS);
    fitted(Variant { segmented: top.segmented, aliased: request.aliased, ..shape }, group, keys, ranking, facts)
}
