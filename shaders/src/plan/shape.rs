//! Kernels, and the shape that each has on a device.

use super::segments::SegmentShapes;
use super::tuning::{
    COPY_TILE, COUNTER_GROUP, COUNTER_KEYS, DIGIT_RUN, DISTANCE_RUN, GROUP, MOST_COLUMNS, PassShape, SELECT_KEYS, SELECT_SEGMENT,
    UNROLLED_LANES, WIDE_SLICES,
};
use super::{Algorithm, MAX_KEYS, PassKind, Payload, RADIX, RADIX_BITS, Request, SortPlan, Tuned, tuning};
use polysort_core::Error;
use polysort_core::vector::{Metric, Precision};

/// What a plan must know of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The smallest and the largest subgroup that a kernel may run with; none if it has no subgroup operations.
    pub subgroups: Option<(u32, u32)>,
    /// Bytes of workgroup memory.
    pub workgroup_bytes: u32,
    /// Threads of a group, at most.
    pub max_group: u32,
    /// Groups in each dimension of a launch, at most.
    pub max_groups: u32,
    /// Bytes of a binding, at most.
    pub max_binding: u64,
    /// Whose numbers of [`tuning`] it goes by.
    pub class: Class,
    /// Shapes of passes that were found on it, which it goes by instead.
    pub tuned: Tuned,
}

/// A kind of devices that work is cut up for alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Apple's own GPUs.
    Apple,
    /// All others: the numbers were found on an NVIDIA H200.
    Other,
}

impl Facts {
    /// Facts to try plans with: of a device of no class of its own, with 2^16 - 1 groups in each dimension of a launch and bindings of 2 GiB.
    pub const fn new(subgroups: Option<(u32, u32)>, workgroup_bytes: u32, max_group: u32) -> Self {
        let (max_groups, max_binding) = (65_535, 1 << 31);
        Self { subgroups, workgroup_bytes, max_group, max_groups, max_binding, class: Class::Other, tuned: Tuned::NONE }
    }

    /// The number of keys that kernels are made for which sort up to `max`. What takes long to compile is the same for all lengths.
    pub(super) fn alike(&self, max: u64) -> u64 {
        if self.unrolls() { max } else { MAX_KEYS }
    }

    /// Whether loops over a thread's keys are written out.
    pub(super) fn unrolls(&self) -> bool {
        self.subgroups.is_some_and(|(least, _)| least >= UNROLLED_LANES)
    }

    /// Whether keys that share a digit wait for each other, where each counts itself, and subgroups of a group may go different ways
    /// between barriers of their own: those of GPUs, of 32 lanes. On lavapipe, of up to 16, such a barrier waits for the whole group, and
    /// sorts crash or come out wrong; of more lanes, ballots count.
    fn parts_subgroups(&self) -> bool {
        self.subgroups == Some((32, 32))
    }

    /// The group, of `wanted` threads or a half of that and so on, and the ranking by ballots, if such a group is a multiple of every
    /// subgroup and has memory for a row of counters of each of the smallest.
    pub(super) fn ballot(&self, wanted: u32) -> Option<(u32, Ranking)> {
        self.ballot_in_rows(wanted, RADIX)
    }

    /// Threads of a group that ranks by counters.
    pub(super) fn counters(&self) -> (u32, Ranking) {
        (COUNTER_GROUP.min(self.max_group), Ranking::Counters)
    }

    /// The same as [`Self::ballot`] with rows of so many words.
    fn ballot_in_rows(&self, wanted: u32, row: u32) -> Option<(u32, Ranking)> {
        let (least, most) = self.subgroups?;
        let mut group = wanted.min(self.max_group);
        // Three quarters of the memory, or less: other arrays need some.
        while group > most.max(16) && group / least * row * 4 > self.workgroup_bytes * 3 / 4 {
            group /= 2;
        }
        let rows = group / least.max(1);
        let fits = group >= most && group.is_multiple_of(most) && rows * row * 4 <= self.workgroup_bytes * 3 / 4;
        fits.then_some((group, Ranking::Ballot { rows, wide: most > 32 }))
    }

    /// The most keys that one group selects: of an array more are selected by all groups together, of segments not without sorting all.
    pub fn most_selected(&self) -> u32 {
        let most = |algorithm| {
            let (group, ranking) = selecting(algorithm, self);
            let shape = fitted(Variant::of(Kernel::TopK, 32), group, SELECT_KEYS, ranking, self);
            shape.map_or(0, |shape| shape.tile)
        };
        most(None).min(most(Some(Algorithm::ReduceThenScan))).min(SELECT_SEGMENT / 4)
    }
}

/// How the keys of a tile are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ranking {
    /// By ballots of subgroups, which count in so many rows at most.
    Ballot {
        /// Subgroups of a group, at most.
        rows: u32,
        /// Whether subgroups can have more than 32 lanes.
        wide: bool,
    },
    /// By counters of each thread.
    Counters,
}

/// Tiles that publish nothing, so that others have to count them: what a device does that lets a group starve. Those from `from` to
/// before `until` of which `every`-th ones, counted from tile `phase`, are blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Blocked {
    /// The first tile that may be.
    pub from: u32,
    /// The end of those that may be.
    pub until: u32,
    /// One of so many is; at least 1.
    pub every: u32,
    /// The remainder of the number of a blocked tile by `every`.
    pub phase: u32,
}

impl Blocked {
    /// No tile.
    pub const NONE: Self = Self { from: 0, until: 0, every: 1, phase: 0 };

    /// All tiles from `from` to before `until`.
    pub const fn run(from: u32, until: u32) -> Self {
        Self { from, until, every: 1, phase: 0 }
    }

    /// One tile of `every`.
    pub const fn one_of(every: u32) -> Self {
        Self { from: 0, until: u32::MAX, every, phase: every / 2 }
    }

    /// Whether a tile is.
    pub fn contains(&self, tile: u32) -> bool {
        (self.from..self.until).contains(&tile) && tile % self.every == self.phase
    }
}

impl Default for Blocked {
    fn default() -> Self {
        Self::NONE
    }
}

/// A kernel: a file of the shader crate, its entry point and its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the files say what they do")]
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

    /// The name of file, entry point and label.
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

/// A kernel with all that its text depends on. What a kernel does not depend on is 0, so that equal texts have equal variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// The kernel.
    pub kernel: Kernel,
    /// Bits of a key as it lies in the caller's buffer.
    pub key_bits: u32,
    /// Whether the kernel reads or writes the caller's keys of 8 or 16 bits, packed in words.
    pub packed: bool,
    /// Bits of a digit.
    pub radix_bits: u32,
    /// Words of a value.
    pub value_words: u32,
    /// Whether the values are the keys' positions.
    pub indexed: bool,
    /// Threads of a group.
    pub group: u32,
    /// Keys that a thread holds.
    pub keys: u32,
    /// Keys of a tile.
    pub tile: u32,
    /// Parts in which a tile goes through workgroup memory.
    pub slices: u32,
    /// Whether loops over these are written out: some compilers keep in memory what a loop indexes.
    pub unrolled: bool,
    /// How a tile is ranked.
    pub ranking: Option<Ranking>,
    /// Whether it clears, or uses, status words of look-back.
    pub look_back: bool,
    /// Whether its pass is by the most significant digit that varies, and not by the next one.
    pub partitions: bool,
    /// Keys in which the buckets of a batch start, where these are sorted batch by batch.
    pub batch: u32,
    /// Keys of a bucket, or of a segment, at most, that one group sorts.
    pub small_bucket: u32,
    /// Where segments are sorted: keys of one, at most, that a thread of the network holds.
    pub network_keys: u32,
    /// Whether it copies what it counts.
    pub copies: bool,
    /// Whether it is told where segments begin and end.
    pub segmented: bool,
    /// Whether it works on positions that were selected before.
    pub nested: bool,
    /// Whether it may write the buffer that it reads keys from: it writes positions to another part of it.
    pub aliased: bool,
    /// Whether it looks for subgroups of whose keys many share a digit, or all do, and lets these go another way.
    pub runs: bool,
    /// Words of the counters in which it counts values of whole keys; 0 if it does not.
    pub counters: u32,
    /// What vectors it works on.
    pub vectors: Option<Vectors>,
}

/// What a kernel that works on vectors depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Vectors {
    /// How far is measured.
    pub metric: Metric,
    /// How the store keeps numbers.
    pub precision: Precision,
    /// Whether vectors are read four numbers at a time.
    pub quads: bool,
    /// Threads that share a vector.
    pub team: u32,
}

impl Vectors {
    /// Sums that make a distance.
    pub fn sums(self) -> u32 {
        if self.metric == Metric::Cosine { 3 } else { 1 }
    }
}

impl Variant {
    /// A kernel for keys of so many bits, that depends on nothing else.
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

    /// Of a kernel that moves what is requested.
    fn moving(kernel: Kernel, request: &Request) -> Self {
        let (value_words, indexed) = (request.payload.words(), request.payload == Payload::Indices);
        Self { value_words, indexed, ..Self::of(kernel, request.key_bits) }
    }

    /// Words of a key while it is sorted.
    pub fn key_words(&self) -> u32 {
        self.key_bits.div_ceil(32)
    }

    /// Values of a digit.
    pub fn radix(&self) -> u32 {
        1 << self.radix_bits
    }

    /// Whether digits are wider than those of other sorts.
    pub fn has_wide_digits(&self) -> bool {
        self.radix_bits > RADIX_BITS
    }

    /// Digits of a key, at most.
    pub fn key_digits(&self) -> u32 {
        self.key_words() * self.key_bits.min(32).div_ceil(self.radix_bits)
    }

    /// Whether two counts share a word: those of wide digits, and those of 16 digits at once, which would else take all the workgroup memory
    /// that the least of devices have.
    pub fn packs_counts(&self) -> bool {
        self.has_wide_digits() || self.key_bits == 128 && matches!(self.kernel, Kernel::Histogram | Kernel::BucketHistogram)
    }

    /// Groups that share out the values of a key of 8 or 16 bits: each has a counter for as many as fit, two of 16 bits in a word.
    pub fn spans(&self) -> u32 {
        if self.counters > 0 && self.packs_counts() { self.radix().div_ceil(2 * self.counters) } else { 1 }
    }

    /// Words of the counts of all values of a digit, and of the gaps between them where subgroups go different ways.
    pub fn row_words(&self) -> u32 {
        match self.radix() {
            radix if self.packs_counts() => radix / 2,
            radix if self.runs => radix + radix / tuning::BANKS,
            radix => radix,
        }
    }

    /// Keys of a thread that go through workgroup memory at a time.
    pub fn slice_keys(&self) -> u32 {
        self.keys.div_ceil(self.slices)
    }

    /// Keys of a slice that a thread holds at a time while it writes them, so that slices are chunks of these.
    pub fn chunk(&self) -> u32 {
        (1..=tuning::MAX_CHUNK).rev().find(|&chunk| self.slice_keys().is_multiple_of(chunk)).unwrap_or(1)
    }

    /// Keys of a tile that do.
    pub fn slice(&self) -> u32 {
        self.group * self.slice_keys()
    }

    /// Words of workgroup memory that a tile is worked on.
    pub fn board_words(&self) -> u32 {
        let counters = match self.ranking {
            Some(Ranking::Ballot { rows, .. }) => rows * self.row_words(),
            Some(Ranking::Counters) => 8 * self.group + self.tile,
            None => return 0,
        };
        // Where keys are held in one place until they are sorted, word after word goes through it.
        if matches!(self.kernel, Kernel::SingleTile | Kernel::BucketTile | Kernel::SegmentTile) {
            counters.max(self.tile)
        } else if self.kernel == Kernel::TopK {
            // Counts of a digit, and sums of some of them; or two marks for each of 32 keys a thread.
            counters.max(RADIX + RADIX / DIGIT_RUN).max(2 * self.group)
        } else {
            // Where wide digits go lies behind the slice: in memory of its own it would take as much as two rows.
            let behind = if self.has_wide_digits() { self.radix() } else { 0 };
            counters.max(self.slice() * self.key_words().max(self.value_words) + behind)
        }
    }

    /// Bytes of workgroup memory of all arrays and variables, each rounded up to 16.
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
            // Positions, the segment, the digit found, and sums over the threads where these are not those of the ranking.
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
        // To the passes, a shorter key is a word like any other.
        let pass = Variant { key_bits: 32 * request.key_words(), ..base };
        let max = facts.alike(request.max);
        let pass_of = |kernel| sweep(Variant { kernel, look_back: true, radix_bits, ..pass }, max, facts);
        let mut onesweep = pass_of(Kernel::Onesweep)?;
        let (mut bucket_sweep, mut bucket_tile) = (None, None);
        if request.algorithm == Some(Algorithm::MsdHybrid) {
            // All passes have the tile of those that need more memory. Those have no first pass, to which the values are the positions.
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

    /// A kernel that copies.
    pub(super) fn copying(&self, kernel: Kernel) -> Variant {
        Variant { kernel, tile: COPY_TILE, ..self.plain }
    }
}

/// The shape of the one launch that sorts up to `max` keys, or as many as it can.
pub(super) fn single(request: &Request, max: u64, facts: &Facts) -> Result<Variant, Error> {
    let shape = Variant { packed: request.is_packed(), ..Variant::moving(Kernel::SingleTile, request) };
    held(shape, max, true, facts)
}

/// The shape of a group that holds up to `max` keys until they are sorted, or as many as it can: by ballots, if they may be and subgroups suit it.
pub(super) fn held(shape: Variant, max: u64, ballots: bool, facts: &Facts) -> Result<Variant, Error> {
    let (group, keys) = tuning::single(shape.key_words(), shape.value_words, max);
    let (group, ranking) = facts.ballot(group).filter(|_| ballots).unwrap_or(facts.counters());
    fitted(shape, group, keys, ranking, facts)
}

/// The shape of a pass that looks back, if subgroups suit it: of one that is [made for](Facts::alike) up to `max` keys.
pub(super) fn sweep(shape: Variant, max: u64, facts: &Facts) -> Result<Option<Variant>, Error> {
    if shape.has_wide_digits() {
        return wide(shape, max, facts).map(Some);
    }
    let kind = PassKind::new(shape.key_words(), shape.value_words);
    let shape = Variant { runs: facts.parts_subgroups(), ..shape };
    let made = |PassShape { group, keys, slices }: PassShape| {
        let ballot = facts.ballot(group).or_else(|| facts.ballot(GROUP));
        ballot.map(|(group, ranking)| fitted(Variant { slices, ..shape }, group, keys, ranking, facts)).transpose()
    };
    if let Some(tuned) = facts.tuned.pass(kind, max) {
        return made(tuned);
    }
    // Passes over buckets were not measured by other shapes, and where there is one for all lengths it is not that. Cut down, it is none of those
    // that were measured.
    let large = tuning::large_pass(facts.class, kind.key_words, kind.value_words, max)
        .filter(|_| shape.kernel == Kernel::Onesweep && facts.unrolls())
        .and_then(|large| made(large).ok().flatten().filter(|made| (made.group, made.keys) == (large.group, large.keys)));
    match large {
        Some(large) => Ok(Some(large)),
        None => made(tuning::pass(facts.class, kind.key_words, kind.value_words, max)),
    }
}

/// The shape with as many keys a thread as are wanted, or as fit.
pub(super) fn fitted(shape: Variant, group: u32, keys: u32, ranking: Ranking, facts: &Facts) -> Result<Variant, Error> {
    let unrolled = facts.unrolls();
    (1..=keys)
        .rev()
        .map(|keys| Variant { group, keys, tile: group * keys, unrolled, ranking: Some(ranking), ..shape })
        .find(|shape| shape.workgroup_bytes() <= facts.workgroup_bytes)
        .ok_or_else(|| Error::Unsupported { what: format!("a device with {} bytes of workgroup memory", facts.workgroup_bytes) })
}

/// The shape of a pass by wide digits.
fn wide(shape: Variant, max: u64, facts: &Facts) -> Result<Variant, Error> {
    let shape = Variant { slices: WIDE_SLICES, ..shape };
    let (group, keys) = tuning::wide_pass(shape.key_words(), shape.value_words, max);
    // Each thread owns as many words of a row.
    let ballot = facts.ballot_in_rows(group, shape.row_words()).filter(|(group, _)| shape.row_words().is_multiple_of(*group));
    let (group, ranking) = ballot.ok_or_else(|| no_wide_digits(facts))?;
    fitted(shape, group, keys, ranking, facts)
}

/// The shape that counts values of whole keys: with as many counters as there is memory, of those that are needed.
fn counting(shape: Variant, facts: &Facts) -> Variant {
    let group = tuning::COUNT_GROUP.min(facts.max_group);
    let shape = Variant { group, keys: tuning::HISTOGRAM_BATCH * (32 / shape.key_bits).max(1), ..shape };
    let shape = Variant { tile: group * shape.keys, ..shape };
    let fit = facts.workgroup_bytes / 4;
    let counters = if shape.packs_counts() {
        // As many for each span.
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

/// The group and the ranking of a selection: the plainest, for an algorithm that needs the least of a device.
fn selecting(algorithm: Option<Algorithm>, facts: &Facts) -> (u32, Ranking) {
    let ballot = facts.ballot(GROUP).filter(|_| algorithm != Some(Algorithm::ReduceThenScan));
    ballot.unwrap_or(facts.counters())
}

/// The shape that selects as many keys as are asked for: the smallest tile that they fit, since that is what limits how many groups a device
/// works on at a time.
fn top_shape(shape: Variant, request: &Request, facts: &Facts) -> Result<Variant, Error> {
    let Some(top) = request.top else { return Ok(shape) };
    let most = facts.most_selected();
    if top.k > most {
        // Of one array, all groups together select them.
        if !top.segmented {
            return Ok(Variant { tile: 0, ..shape });
        }
        return Err(Error::Unsupported {
            what: format!("selecting {} keys of each segment; here there are at most {most}", top.k),
        });
    }
    let (group, ranking) = selecting(request.algorithm, facts);
    let keys = top.k.div_ceil(group).next_power_of_two().min(SELECT_KEYS);
    fitted(Variant { segmented: top.segmented, aliased: request.aliased, ..shape }, group, keys, ranking, facts)
}
