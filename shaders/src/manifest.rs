//! The manifest of the kernels: one entry for each, with all that other code needs to know of it.
//!
//! ```text
//! Onesweep = "onesweep" {                      the name of the file in wgsl/, of the entry point and of the label
//!     wgsl: [number key … ranking sweep],      the parts before the kernel's file, from wgsl/parts/
//!     msl: [group sort … ranking sweep],       the same from msl/, or `none`: the kernel exists in WGSL only
//!     bindings: [number slot, … write keys_to, read values_from if VALUES],      from 0 on
//!     model: Device,                           the test that compares the kernel with a plain model
//! }
//! ```
//!
//! A kernel is one entry here, its files, a case of `KernelShape` (`plan/kernel_shape.rs`), and the code that launches it. The
//! compiler names a file that is missing, and asks how much workgroup memory a kernel of that shape takes. Tests name an entry
//! that differs from the kernel's file, a file that no entry uses, a kernel that no plan has, and a model that is missing.

/// What the manifest states of a kernel.
#[derive(Debug)]
pub struct Entry {
    /// The name of the kernel's file, entry point and label.
    pub name: &'static str,
    /// The kernel's WGSL.
    pub wgsl: Source,
    /// The kernel's hand-written Metal Shading Language; `None` if the kernel exists in WGSL only.
    pub msl: Option<Source>,
    /// The bindings, in the order of their numbers. A variant has those whose condition is met.
    pub bindings: &'static [Binding],
    /// The test that compares the kernel with a plain model.
    pub model: Model,
}

/// The text of a kernel in one language.
#[derive(Debug)]
pub struct Source {
    /// What precedes the kernel's file.
    pub parts: &'static [Part],
    /// The kernel's file.
    pub file: &'static str,
}

/// A part of a kernel's text.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// A file.
    File(&'static str),
    /// A flag, and a file that the text has if the flag is set.
    FileIf(&'static str, &'static str),
    /// The files that rank the keys of a tile. The variant's ranking selects them.
    Ranking,
}

/// A binding of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// The name of the variable.
    pub name: &'static str,
    /// How the kernel uses the binding.
    pub access: Access,
    /// The flag without which the kernel lacks the binding; `None` if the kernel always has it. Kernels test the same flags
    /// with `#if`.
    pub only_if: Option<&'static str>,
}

/// The use of a binding by its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A number of the command: a uniform with a dynamic offset.
    Number,
    /// The uniform [`abi::Sort`](crate::abi::Sort).
    Sort,
    /// The uniform [`abi::Search`](crate::abi::Search).
    Search,
    /// The uniform [`abi::Merge`](crate::abi::Merge).
    Merge,
    /// A storage buffer that the kernel only reads.
    Read,
    /// A storage buffer that the kernel writes.
    Write,
    /// A storage buffer that the kernel only reads. If the flag `ALIASED` is set, WGSL declares it as writable, because the
    /// kernel writes another part of the same buffer through another binding.
    Aliased,
}

/// The test that compares single launches of a kernel with a plain model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// On a device: `backends/wgpu/tests/kernels`.
    Device,
    /// In the runner of MSL, where the model knows the schedule: `tests/msl/tests/segment_kernels.rs`.
    Runner,
    /// None: sums of floats have no exact model. The conformance suite tests the kernel as a part of vector search.
    None,
}

/// The text of a file in one language.
macro_rules! text {
    (wgsl, $file:expr) => {
        include_str!(concat!("../wgsl/", $file, ".wgsl"))
    };
    (msl, $file:expr) => {
        include_str!(concat!("../msl/", $file, ".metal"))
    };
}

/// A part of a kernel's text in one language.
macro_rules! part {
    ($language:ident, ranking) => {
        Part::Ranking
    };
    ($language:ident, ($name:ident if $flag:ident)) => {
        Part::FileIf(stringify!($flag), text!($language, concat!("parts/", stringify!($name))))
    };
    ($language:ident, $name:ident) => {
        Part::File(text!($language, concat!("parts/", stringify!($name))))
    };
}

/// The text of a kernel in one language, if it exists.
macro_rules! source {
    ($language:ident, $name:literal, none) => {
        None
    };
    ($language:ident, $name:literal, [$($part:tt)*]) => {
        Some(Source { parts: &[$(part!($language, $part)),*], file: text!($language, $name) })
    };
}

macro_rules! access {
    (number) => {
        Access::Number
    };
    (sort) => {
        Access::Sort
    };
    (search) => {
        Access::Search
    };
    (merge) => {
        Access::Merge
    };
    (read) => {
        Access::Read
    };
    (write) => {
        Access::Write
    };
    (aliased) => {
        Access::Aliased
    };
}

macro_rules! only_if {
    () => {
        None
    };
    ($flag:ident) => {
        Some(stringify!($flag))
    };
}

macro_rules! kernels {
    ($(
        $(#[$doc:meta])*
        $kernel:ident = $name:literal {
            wgsl: [$($part:tt)*],
            msl: $msl:tt,
            bindings: [$($access:ident $binding:ident $(if $flag:ident)?),* $(,)?],
            model: $model:ident,
        }
    )*) => {
        /// A kernel.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kernel {
            $($(#[$doc])* $kernel,)*
        }

        impl Kernel {
            /// All kernels.
            pub const ALL: [Self; [$(Self::$kernel),*].len()] = [$(Self::$kernel),*];

            /// Returns what the manifest states of this kernel.
            pub fn entry(self) -> &'static Entry {
                match self {
                    $(Self::$kernel => &Entry {
                        name: $name,
                        wgsl: Source { parts: &[$(part!(wgsl, $part)),*], file: text!(wgsl, $name) },
                        msl: source!(msl, $name, $msl),
                        bindings: &[$(Binding {
                            name: stringify!($binding),
                            access: access!($access),
                            only_if: only_if!($($flag)?),
                        }),*],
                        model: Model::$model,
                    },)*
                }
            }
        }
    };
}

kernels! {
    /// Starts a sort: stores the number of keys in the state, and clears the rest of it.
    Begin = "begin" {
        wgsl: [number key sort call],
        msl: [group sort],
        bindings: [number count_low, number count_middle, number count_high, sort sort, read count, write state],
        model: Device,
    }
    /// Counts the values of every digit, with one read of the keys. Finds out whether the keys are in order already.
    Histogram = "histogram" {
        wgsl: [number key sort source counts],
        msl: [group sort counts],
        bindings: [sort sort, write state, read keys_from, write status if STATUS],
        model: Device,
    }
    /// Replaces each count of the histogram by the number of keys with a smaller digit. Finds the digits in which keys
    /// differ.
    Scan = "scan" {
        wgsl: [number key sort sums],
        msl: [group sort sums],
        bindings: [sort sort, write state],
        model: Device,
    }
    /// Counts how many keys of 8 or 16 bits have each value.
    CountValues = "count_values" {
        wgsl: [number key sort values],
        msl: [group sort values],
        bindings: [sort sort, write state, read keys_from],
        model: Device,
    }
    /// Replaces each value's count by the number of keys with smaller values of the same block.
    ScanValues = "scan_values" {
        wgsl: [number key sort values sums],
        msl: [group sort values sums],
        bindings: [sort sort, write state],
        model: Device,
    }
    /// Sorts all keys by one digit: one pass of a least-significant-digit radix sort with look-back.
    Onesweep = "onesweep" {
        wgsl: [number key sort schedule value board places move_tile ranking sweep],
        msl: [group sort ranking board move_tile sweep],
        bindings: [
            number slot, sort sort, write state, write status, write status_next, read keys_from, write keys_to, read
            values_from if VALUES, write values_to if VALUES,
        ],
        model: Device,
    }
    /// Cuts the buckets of a partition into tiles, and collects neighboring buckets in batches.
    Buckets = "buckets" {
        wgsl: [number key sort schedule bucket_table sums],
        msl: [group sort bucket_table sums],
        bindings: [sort sort, write state, write table],
        model: Device,
    }
    /// Sorts the small buckets by all of their lower digits, one workgroup each.
    BucketTile = "bucket_tile" {
        wgsl: [number key sort schedule value board ranking sort_by_digit held_tile],
        msl: [group sort ranking sort_by_digit held_tile],
        bindings: [
            sort sort, write state, write keys_scratch, write keys_home, write values_scratch if VALUES, write
            values_home if VALUES,
        ],
        model: Device,
    }
    /// Counts the lower digits of the buckets of a batch, or all digits of long segments.
    BucketHistogram = "bucket_histogram" {
        wgsl: [number key sort schedule value (lists if LISTS) bucket_table sums counts],
        msl: [group sort (lists if LISTS) bucket_table sums counts],
        bindings: [
            number batch, sort sort, write state, write table, write status, read keys_from, write keys_to if COPIES,
            read values_from if VALUES, write values_to if VALUES,
        ],
        model: Device,
    }
    /// Sorts each bucket of a batch, or each long segment, by one digit, with look-back.
    BucketSweep = "bucket_sweep" {
        wgsl: [number key sort schedule (lists if LISTS) bucket_table value board places move_tile ranking sweep],
        msl: [group sort (lists if LISTS) bucket_table ranking board move_tile sweep],
        bindings: [
            number slot, number batch, sort sort, write state, write table, write status, write status_next, read
            keys_from, write keys_to, read values_from if VALUES, write values_to if VALUES,
        ],
        model: Device,
    }
    /// Counts the values of one digit in each tile, for a pass of the reduce-then-scan sort.
    Upsweep = "upsweep" {
        wgsl: [number key sort schedule pass places],
        msl: none,
        bindings: [number slot, sort sort, write state, write status, read keys_from],
        model: Device,
    }
    /// Replaces each tile's count of a digit by the offset at which the tile's keys with that digit start in the output.
    Spine = "spine" {
        wgsl: [number schedule pass sums],
        msl: none,
        bindings: [number slot, write state, write status],
        model: Device,
    }
    /// Moves each tile's keys and values to their offsets in the order of the digit, stably.
    Downsweep = "downsweep" {
        wgsl: [number key sort schedule pass value board places move_tile ranking],
        msl: none,
        bindings: [
            number slot, sort sort, write state, write status, read keys_from, write keys_to, read values_from if
            VALUES, write values_to if VALUES,
        ],
        model: Device,
    }
    /// Sorts all keys in one launch, if they fit one tile.
    SingleTile = "single_tile" {
        wgsl: [number key sort call source value board ranking sort_by_digit held_tile],
        msl: [group sort ranking sort_by_digit],
        bindings: [
            number count_low, number count_middle, number count_high, sort sort, read count, write keys_from, write
            values_to if VALUES,
        ],
        model: Device,
    }
    /// Adds each segment of at least two keys to the list of its class, which its length decides.
    Segments = "segments" {
        wgsl: [number key sort call lists],
        msl: [sort lists],
        bindings: [
            number count_low, number count_middle, number count_high, number begins_first, number ends_first, sort sort,
            read count, write state, read begins, read ends, write lists,
        ],
        model: Runner,
    }
    /// Sorts short segments with a bitonic network, a team of threads each.
    SegmentNetwork = "segment_network" {
        wgsl: [number key sort value lists],
        msl: [sort threads lists],
        bindings: [sort sort, write state, read lists, write keys_home, write values_home if VALUES],
        model: Runner,
    }
    /// Sorts segments of medium length, one workgroup each.
    SegmentTile = "segment_tile" {
        wgsl: [number key sort value board lists ranking sort_by_digit held_tile],
        msl: [sort lists ranking sort_by_digit held_tile],
        bindings: [sort sort, write state, read lists, write keys_home, write values_home if VALUES],
        model: Runner,
    }
    /// Cuts the long segments into tiles. They are the buckets of the table, in one batch.
    LongSegments = "long_segments" {
        wgsl: [number key sort lists bucket_table],
        msl: [sort lists bucket_table],
        bindings: [sort sort, write state, read lists, write table],
        model: Runner,
    }
    /// Counts the values of one digit in the keys that equal the threshold in all digits above it.
    PickCount = "pick_count" {
        wgsl: [number key sort source bar pick],
        msl: [group sort bar pick],
        bindings: [number level, sort sort, write state, read keys_from],
        model: Device,
    }
    /// Finds one digit of the threshold, which is the last key to be selected.
    PickDigit = "pick_digit" {
        wgsl: [number key sort sums pick],
        msl: [sort sums pick],
        bindings: [number level, sort sort, write state, write indices_to, write picked_count],
        model: Device,
    }
    /// Counts, for each tile, the keys below the threshold, and the keys that equal it.
    PickTally = "pick_tally" {
        wgsl: [number key sort source bar pick],
        msl: [group sort bar sums pick],
        bindings: [sort sort, write state, write status, read keys_from],
        model: Device,
    }
    /// Replaces the two counts of each tile by their sums over all tiles before it.
    PickSpine = "pick_spine" {
        wgsl: [number sums pick],
        msl: [sort sums pick],
        bindings: [write state, write status],
        model: Device,
    }
    /// Writes the selected keys and their indices, in the order of the indices.
    Pick = "pick" {
        wgsl: [number key sort source bar sums pick],
        msl: [group sort threads bar marks sums pick],
        bindings: [sort sort, write state, read status, aliased keys_from, write indices_to, write picked],
        model: Device,
    }
    /// Copies elements, if the copy is scheduled.
    Copy = "copy" {
        wgsl: [number schedule due],
        msl: [group sort],
        bindings: [
            number when, number width, number from_first, number to_first, write state, read words_from, write words_to,
        ],
        model: Device,
    }
    /// Writes the permutation 0, 1, 2, … if the sort needs no pass.
    Identity = "identity" {
        wgsl: [number key sort schedule],
        msl: [group sort],
        bindings: [sort sort, write state, write indices_to],
        model: Device,
    }
    /// Unpacks keys of 8 or 16 bits: each becomes the top bits of a word, with zeros below.
    Widen = "widen" {
        wgsl: [number key sort source],
        msl: [group sort],
        bindings: [sort sort, write state, read keys_from, write keys_to],
        model: Device,
    }
    /// Packs keys of 8 or 16 bits, after passes in which each key was the top bits of a word.
    Narrow = "narrow" {
        wgsl: [number key sort schedule],
        msl: [group sort],
        bindings: [sort sort, write state, read even, read odd, write keys_to],
        model: Device,
    }
    /// Writes keys of 8 or 16 bits in order, from the counts of their values.
    Fill = "fill" {
        wgsl: [number key sort values sums],
        msl: [group sort values sums],
        bindings: [sort sort, read state, write keys_to],
        model: Device,
    }
    /// Selects the first keys of each segment, and sorts them.
    TopK = "top_k" {
        wgsl: [number key sort call source board bar ranking sums positions],
        msl: [group sort ranking bar marks positions],
        bindings: [
            number count_low, number count_middle, number count_high, number level, sort sort, read count, aliased
            keys_from, write indices_to, read segments if SEGMENTED, read candidates if NESTED,
        ],
        model: Device,
    }
    /// Cuts one step of a merge of two sorted runs into tiles.
    MergePath = "merge_path" {
        wgsl: [number key merge],
        msl: none,
        bindings: [
            number first_low, number first_middle, number first_high, number second_low, number second_middle, number
            second_high, merge merge, read first_count, read second_count, read first_keys, read second_keys, write path,
        ],
        model: Device,
    }
    /// Merges the tiles of one step of a merge, stably.
    MergeTile = "merge_tile" {
        wgsl: [key merge],
        msl: none,
        bindings: [
            merge merge, read path, read first_keys, read second_keys, write keys_to, read first_values if VALUES, read
            second_values if VALUES, write values_to if VALUES,
        ],
        model: Device,
    }
    /// Starts a search for runs of equal keys: stores the number of keys in the state, and clears the status words.
    BeginRuns = "begin_runs" {
        wgsl: [number key sort call runs],
        msl: none,
        bindings: [
            number count_low, number count_middle, number count_high, number offsets_first, number count_first, sort
            sort, read count, write state, write status, write offsets, write run_count,
        ],
        model: Device,
    }
    /// Finds the runs of equal neighboring keys, with look-back.
    Runs = "runs" {
        wgsl: [number key sort source runs sums threads (lanes if SUBGROUPS)],
        msl: none,
        bindings: [
            number unique_first, number offsets_first, number lengths_first, number count_first, sort sort, write state,
            write status, aliased keys_from, write unique, write offsets, write lengths, write run_count,
        ],
        model: Device,
    }
    /// Gathers elements by their indices.
    Gather = "gather" {
        wgsl: [number key sort words],
        msl: [group sort words],
        bindings: [
            number counted_at, number width, number from_first, number indices_first, number to_first, sort sort, write
            state, aliased words_from, aliased indices, write words_to,
        ],
        model: Device,
    }
    /// Writes each index of 32 bits as a number of 64 bits.
    WidenIndices = "widen_indices" {
        wgsl: [number key sort call words],
        msl: [group sort words],
        bindings: [
            number count_low, number count_middle, number count_high, number to_first, sort sort, read count, read
            indices, write words_to,
        ],
        model: Device,
    }
    /// Writes the bounds of the segments to select from, limited to the keys that there are.
    SegmentBounds = "segment_bounds" {
        wgsl: [number key sort call],
        msl: [sort],
        bindings: [
            number count_low, number count_middle, number count_high, number begins_first, number ends_first, sort sort,
            read count, read state, read begins, read ends, write bounds,
        ],
        model: Device,
    }
    /// Computes the distance of each candidate from its query, and looks up its slot.
    IvfDistance = "ivf_distance" {
        wgsl: [search],
        msl: [group search],
        bindings: [
            search search, read queries, read vectors, read entries, read candidates, read offsets, write distances,
            write slots, write faults,
        ],
        model: None,
    }
    /// Writes the distances and slots of the selected candidates.
    Nearest = "nearest" {
        wgsl: [search],
        msl: [group search],
        bindings: [search search, read positions, read distances, read slots, write near_distances, write near_slots],
        model: None,
    }
}

impl Kernel {
    /// Returns the name of the kernel's file, entry point and label.
    pub fn name(self) -> &'static str {
        self.entry().name
    }
}
