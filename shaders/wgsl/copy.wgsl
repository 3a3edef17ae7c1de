// Copies elements, if the number of scheduled passes is odd or even as `when` asks.
//
// in       when: COPY_ODD (copy after an odd number of passes), COPY_EVEN (after an even one) or COPY_ALWAYS; width:
//          the number of words of an element; from_first, to_first: the index of the first word in words_from and in words_to; state:
//          the number of elements and the schedule; words_from
// out      words_to: (number of elements) * width words, from word to_first on
// launch   any number of workgroups; each copies COPY_TILE words at a time until no words are left

@group(0) @binding(0) var<uniform> when: Number;
@group(0) @binding(1) var<uniform> width: Number;
@group(0) @binding(2) var<uniform> from_first: Number;
@group(0) @binding(3) var<uniform> to_first: Number;
@group(0) @binding(4) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(5) var<storage, read> words_from: array<u32>;
@group(0) @binding(6) var<storage, read_write> words_to: array<u32>;

@compute @workgroup_size(GROUP)
fn copy(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    if (!is_due(when.value)) {
        return;
    }
    let words = atomicLoad(&state[STATE_COUNT]) * width.value;
    for (var first = (group_id.y * groups.x + group_id.x) * COPY_TILE; first < words; first += groups.x * groups.y * COPY_TILE) {
        let end = min(words, first + COPY_TILE);
        var i = first + thread;
        // The thread reads BATCH words before it writes them: the reads do not wait for each other.
        for (; i + (BATCH - 1u) * GROUP < end; i += BATCH * GROUP) {
            var held: array<u32, BATCH>;
#repeat k BATCH
            held[k] = words_from[from_first.value + i + k * GROUP];
#end
#repeat k BATCH
            words_to[to_first.value + i + k * GROUP] = held[k];
#end
        }
        for (; i < end; i += GROUP) {
            words_to[to_first.value + i] = words_from[from_first.value + i];
        }
    }
}
