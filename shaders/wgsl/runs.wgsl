// Finds the runs of equal neighboring keys, with one read of the keys.
//
// in       sort; state: the number of keys; keys_from: the source; unique_first, offsets_first, lengths_first,
//          count_first: the first elements of the outputs
// in, out  state: word STATE_TICKETS, 0 before, hands out the tiles; status: the words of all tiles, 0 before
// out      run_count and word STATE_RUNS of the state: the number of runs. For each run: its first key in `unique`
//          (with UNIQUE), the index of this key in `offsets` (with OFFSETS), its number of keys in `lengths` (with
//          LENGTHS). The number of all keys follows the last offset
// launch   any number of workgroups; each takes tiles until none is left
// does     The workgroup marks each key of a tile that begins a run, with one bit. It counts the marks, publishes the
//          count, and looks back over the counts of earlier tiles: decoupled look-back (Merrill and Garland, 2016). The
//          length of a run is known where the next run begins, so tiles also publish where their last run begins.
//          A workgroup that waits too long for a tile counts this tile itself: no device promises that another
//          workgroup makes progress.
// needs    a tile that is a multiple of 32, and at most 32 keys per thread

@group(0) @binding(0) var<uniform> unique_first: Number;
@group(0) @binding(1) var<uniform> offsets_first: Number;
@group(0) @binding(2) var<uniform> lengths_first: Number;
@group(0) @binding(3) var<uniform> count_first: Number;
@group(0) @binding(4) var<uniform> sort: Sort;
@group(0) @binding(5) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read_write> status: array<atomic<u32>>;
#if ALIASED
// keys_from and an output are parts of one buffer: both bindings must be writable.
#if PACKED
@group(0) @binding(7) var<storage, read_write> keys_from: array<u32>;
#else
@group(0) @binding(7) var<storage, read_write> keys_from: array<Key>;
#endif
#else
#if PACKED
@group(0) @binding(7) var<storage, read> keys_from: array<u32>;
#else
@group(0) @binding(7) var<storage, read> keys_from: array<Key>;
#endif
#endif
@group(0) @binding(8) var<storage, read_write> unique: array<Key>;
@group(0) @binding(9) var<storage, read_write> offsets: array<u32>;
@group(0) @binding(10) var<storage, read_write> lengths: array<u32>;
@group(0) @binding(11) var<storage, read_write> run_count: array<u32>;

// Words of marks, and words with a bit for each of these words.
const MARKS: u32 = TILE / 32u;
const MARKED: u32 = (MARKS + 31u) / 32u;

// The tile, and the number of keys.
var<workgroup> job: vec2<u32>;
// A bit for each key of the tile: 1 if a run begins there.
var<workgroup> marks: array<atomic<u32>, MARKS>;
// A bit for each word of marks: 1 if the word is not 0.
var<workgroup> marked: array<atomic<u32>, MARKED>;
// In a look at earlier tiles, the nearest of them first: the first tile with inclusive words, and the first one whose
// words are missing.
var<workgroup> inclusive: atomic<u32>;
var<workgroup> missing: atomic<u32>;
// The sums of these tiles: the runs that begin there, and the last begin plus 1.
var<workgroup> begun: atomic<u32>;
var<workgroup> last_begun: atomic<u32>;

@compute @workgroup_size(GROUP)
fn runs(
    @builtin(local_invocation_index) thread_id: u32,
#if SUBGROUPS
    @builtin(subgroup_invocation_id) lane_id: u32,
#endif
) {
    thread = thread_id;
#if SUBGROUPS
    lane = lane_id;
#endif
    loop {
        if (thread == 0u) {
            job = vec2(atomicAdd(&state[STATE_TICKETS], 1u), atomicLoad(&state[STATE_COUNT]));
        }
        let work = workgroupUniformLoad(&job);
        if (work.x >= (work.y + TILE - 1u) / TILE) {
            break;
        }
        find_runs(work.x, work.y);
    }
}

// Finds the runs that begin in a tile.
fn find_runs(tile: u32, keys: u32) {
    let first = tile * TILE;
    let present = min(keys - first, TILE);
    mark_begins(first, present);
    var word = 0u;
    if (thread < MARKS) {
        word = atomicLoad(&marks[thread]);
    }
    if (word != 0u) {
        atomicOr(&marked[thread / 32u], 1u << (thread % 32u));
    }
    let up_to_here = sum_up(thread, countOneBits(word));
    let total = sums[GROUP - 1u];
    // One thread knows where the last run of the tile begins. If none begins in the tile, thread 0 acts in its place.
    let is_last = select(thread == 0u, word != 0u && up_to_here == total, total > 0u);
    var last = 0u;
    if (word != 0u) {
        last = first + thread * 32u + firstLeadingBit(word) + 1u;
    }
    let publishes = is_last && !is_blocked(tile);
    if (publishes) {
        publish(tile, select(AGGREGATE, INCLUSIVE, tile == 0u), vec2(total, last));
    }
    let before = look_back(tile);
    last = max(last, before.y);
    if (publishes && tile > 0u) {
        publish(tile, INCLUSIVE, vec2(before.x + total, last));
    }
    for (var at = thread; at < present; at += GROUP) {
        write_begin(first, at, before);
    }
    if (is_last && first + present == keys) {
        let all = before.x + total;
        run_count[count_first.value] = all;
        atomicStore(&state[STATE_RUNS], all);
#if OFFSETS
        offsets[offsets_first.value + all] = keys;
#endif
#if LENGTHS
        lengths[lengths_first.value + all - 1u] = keys + 1u - last;
#endif
    }
}

// Marks each key of the tile that begins a run. The tile has `present` keys, from `first` on.
fn mark_begins(first: u32, present: u32) {
    for (var i = thread; i < MARKS; i += GROUP) {
        atomicStore(&marks[i], 0u);
    }
    for (var i = thread; i < MARKED; i += GROUP) {
        atomicStore(&marked[i], 0u);
    }
    workgroupBarrier();
    for (var start = 0u; start < present; start += GROUP * BATCH) {
        // The thread reads BATCH keys before it compares them: the reads do not wait for each other. Each key is read
        // twice, the second time from a cache.
        var batch: array<Key, BATCH>;
        var before: array<Key, BATCH>;
#repeat k BATCH
        batch[k] = source_key(first + min(start + k * GROUP + thread, present - 1u));
#end
#repeat k BATCH
        before[k] = source_key(max(first + min(start + k * GROUP + thread, present - 1u), 1u) - 1u);
#end
#repeat k BATCH
        let at_@ = start + k * GROUP + thread;
        mark(at_@, at_@ < present && (first + at_@ == 0u || differ(batch[k], before[k])));
#end
    }
    workgroupBarrier();
}

// Marks a key, if a run begins there.
fn mark(at: u32, begins: bool) {
#if SUBGROUPS
    // One lane marks the keys of up to 32 lanes. Their positions follow each other.
    let votes = ballot(begins);
#if BALLOT_1
    if (lane == 0u && votes != 0u) {
        atomicOr(&marks[at / 32u], votes << (at % 32u));
    }
#else
    let word = votes[lane / 32u];
    if (lane % 32u == 0u && word != 0u) {
        atomicOr(&marks[at / 32u], word << (at % 32u));
    }
#endif
#else
    if (begins) {
        atomicOr(&marks[at / 32u], 1u << (at % 32u));
    }
#endif
}

// Returns whether two keys differ in the bits that the order compares.
fn differ(one: Key, other: Key) -> bool {
    var differences = 0u;
    for (var word = 0u; word < KEY_WORDS; word++) {
        differences |= (ordered_word(one, word) ^ ordered_word(other, word)) & sort.window[word];
    }
    return differences != 0u;
}

// Writes what is known where a run begins: the run's key and offset, and the length of the run before. `at` is a
// position of the tile; `before` is the number of runs that begin in earlier tiles, and the last begin plus 1.
fn write_begin(first: u32, at: u32, before: vec2<u32>) {
    let index = at / 32u;
    let bit = at % 32u;
    let word = atomicLoad(&marks[index]);
    if (((word >> bit) & 1u) == 0u) {
        return;
    }
    // The marks of this word from `at` on follow those that come before `at`.
    let run = before.x + sums[index] - countOneBits(word >> bit);
#if UNIQUE
    unique[unique_first.value + run] = source_key(first + at);
#endif
#if OFFSETS
    offsets[offsets_first.value + run] = first + at;
#endif
#if LENGTHS
    if (run > 0u) {
        let in_tile = mark_before(index, word & ((1u << bit) - 1u));
        let begin = select(before.y, first + in_tile, in_tile > 0u);
        lengths[lengths_first.value + run - 1u] = first + at + 1u - begin;
    }
#endif
}

// Returns the position of the last mark of `word`, which is the start of a word of marks, or of an earlier word, plus 1;
// 0 if there is none.
fn mark_before(index: u32, word: u32) -> u32 {
    if (word != 0u) {
        return index * 32u + firstLeadingBit(word) + 1u;
    }
    var block = index / 32u;
    var words = atomicLoad(&marked[block]) & ((1u << (index % 32u)) - 1u);
    while (words == 0u && block > 0u) {
        block -= 1u;
        words = atomicLoad(&marked[block]);
    }
    if (words == 0u) {
        return 0u;
    }
    let found = block * 32u + firstLeadingBit(words);
    return found * 32u + firstLeadingBit(atomicLoad(&marks[found])) + 1u;
}

fn is_blocked(tile: u32) -> bool {
    return tile >= sort.blocked.x && tile < sort.blocked.y && tile % sort.blocked.z == sort.blocked.w;
}

// A status word only changes by atomicMax, and never becomes smaller. So it does not matter which workgroup publishes
// it, or how often.
fn publish(of_tile: u32, kind: u32, words: vec2<u32>) {
    atomicMax(&status[STATUS_WORDS * of_tile], kind | words.x);
    atomicMax(&status[STATUS_WORDS * of_tile + 1u], kind | words.y);
}

// Returns how many runs begin in earlier tiles, and the last begin plus 1.
fn look_back(tile: u32) -> vec2<u32> {
    var seen = vec2(0u);
    // The end of the tiles that have not been seen.
    var end = tile;
    var spins = 0u;
    loop {
        if (end == 0u) {
            break;
        }
        if (thread == 0u) {
            atomicStore(&inclusive, LOOK_TILES);
            atomicStore(&missing, LOOK_TILES);
            atomicStore(&begun, 0u);
            atomicStore(&last_begun, 0u);
        }
        workgroupBarrier();
        var words = vec2(0u);
        if (thread < min(end, LOOK_TILES)) {
            let at = STATUS_WORDS * (end - 1u - thread);
            words = vec2(atomicLoad(&status[at]), atomicLoad(&status[at + 1u]));
            // Both words must be of the same tiles.
            let is_inclusive = words >= vec2(INCLUSIVE);
            if (min(words.x, words.y) < AGGREGATE || is_inclusive.x != is_inclusive.y) {
                atomicMin(&missing, thread);
            } else if (is_inclusive.x) {
                atomicMin(&inclusive, thread);
            }
        }
        workgroupBarrier();
        let gap = workgroupUniformLoad(&missing);
        let stop = workgroupUniformLoad(&inclusive);
        let taken = min(min(gap, stop + 1u), min(end, LOOK_TILES));
        if (thread < taken) {
            atomicAdd(&begun, words.x & COUNT);
            atomicMax(&last_begun, words.y & COUNT);
        }
        workgroupBarrier();
        seen.x += workgroupUniformLoad(&begun);
        seen.y = max(seen.y, workgroupUniformLoad(&last_begun));
        end = select(end - taken, 0u, stop < gap);
        spins = select(0u, spins + 1u, taken == 0u);
        if (spins == LOOK_LIMIT) {
            recount(end - 1u);
            spins = 0u;
        }
    }
    return seen;
}

// Counts the runs that begin in another tile, which must be full, and publishes the count.
fn recount(of_tile: u32) {
    if (thread == 0u) {
        atomicStore(&begun, 0u);
        atomicStore(&last_begun, 0u);
    }
    workgroupBarrier();
    for (var i = thread; i < TILE; i += GROUP) {
        let at = of_tile * TILE + i;
        if (at == 0u || differ(source_key(at), source_key(max(at, 1u) - 1u))) {
            atomicAdd(&begun, 1u);
            atomicMax(&last_begun, at + 1u);
        }
    }
    workgroupBarrier();
    if (thread == 0u) {
        let words = vec2(atomicLoad(&begun), atomicLoad(&last_begun));
        publish(of_tile, select(AGGREGATE, INCLUSIVE, of_tile == 0u), words);
        atomicAdd(&state[STATE_RECOUNTS], 1u);
    }
}
