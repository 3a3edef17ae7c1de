// Counts the values of every digit, with one read of the keys. Finds out whether the keys are in order already.
//
// in       sort; state: word STATE_COUNT, the number of keys; keys_from: the source
// in, out  state: word STATE_HISTOGRAM + d * RADIX + v grows by the number of keys whose digit `d` is `v`; word
//          STATE_DESCENTS becomes 1 if any key is smaller, in the sort's order, than the key before it
// out      status: with STATUS: RADIX words for each tile of pass 0, all 0
// launch   at least keys / HISTOGRAM_TILE workgroups, rounded up; each counts HISTOGRAM_TILE keys

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
#if PACKED
@group(0) @binding(2) var<storage, read> keys_from: array<u32>;
#else
@group(0) @binding(2) var<storage, read> keys_from: array<Key>;
#endif
#if STATUS
@group(0) @binding(3) var<storage, read_write> status: array<u32>;
#endif

var<workgroup> descents: atomic<u32>;
// The number of keys, and whether a descent has been found already.
var<workgroup> work: vec2<u32>;

@compute @workgroup_size(GROUP)
fn histogram(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let group = group_id.y * groups.x + group_id.x;
    if (thread == 0u) {
        work = vec2(atomicLoad(&state[STATE_COUNT]), atomicLoad(&state[STATE_DESCENTS]));
        atomicStore(&descents, 0u);
    }
    for (var i = thread; i < SLOTS; i += GROUP) {
        atomicStore(&counts[i], 0u);
    }
    let todo = workgroupUniformLoad(&work);
    let keys = todo.x;
    let known_descents = todo.y != 0u;
    let first = group * HISTOGRAM_TILE;
    if (first >= keys) {
        return;
    }
#if STATUS
    // The workgroups share the tiles.
    let tiles = (keys + TILE - 1u) / TILE;
    let sharers = (keys + HISTOGRAM_TILE - 1u) / HISTOGRAM_TILE;
    for (var i = group * GROUP + thread; i < tiles * RADIX; i += sharers * GROUP) {
        status[i] = 0u;
    }
#endif

    let present = min(keys - first, HISTOGRAM_TILE);
    var descends = known_descents;
    let is_whole = digits_are_whole();
    for (var start = 0u; start < present; start += GROUP * BATCH) {
        var batch: array<Key, BATCH>;
#repeat k BATCH
        batch[k] = source_key(first + min(start + k * GROUP + thread, present - 1u));
#end
        if (is_whole && start + GROUP * BATCH <= present) {
#repeat k BATCH
            count_whole(batch[k]);
#end
        } else {
#repeat k BATCH
            if (start + k * GROUP + thread < present) {
                count_digits(batch[k], sort.digit_count);
            }
#end
        }
        // One descent is enough: a thread stops looking once it knows of one.
        if (!descends) {
#repeat k BATCH
            let index_@ = first + min(start + k * GROUP + thread, present - 1u);
            descends = descends || is_before(batch[k], source_key(max(index_@, 1u) - 1u));
#end
        }
    }
    if (descends && !known_descents) {
        atomicStore(&descents, 1u);
    }
    workgroupBarrier();
    for (var i = thread; i < sort.digit_count * RADIX; i += GROUP) {
        let found = found_at(i);
        if (found > 0u) {
            atomicAdd(&state[STATE_HISTOGRAM + i], found);
        }
    }
    if (thread == 0u && atomicLoad(&descents) != 0u) {
        atomicStore(&state[STATE_DESCENTS], 1u);
    }
}

// Returns whether `one` goes before `other` in the sort's order.
fn is_before(one: Key, other: Key) -> bool {
    var before = false;
    for (var word = 0u; word < KEY_WORDS; word++) {
        let a = ordered_word(one, word) & sort.window[word];
        let b = ordered_word(other, word) & sort.window[word];
        before = a < b || (a == b && before);
    }
    return before;
}
