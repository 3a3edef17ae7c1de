// Computes the distance of each candidate from its query, and looks up the slot of the candidate.
//
// Vectors lie in slots. A candidate is an index into `entries`, and `entries[e]` is the number of a slot. A page is a range
// of slots that fits one binding.
//
// in       search; queries: search.queries vectors; vectors: the search.page_slots vectors of one page; entries;
//          candidates; offsets: search.queries + 1 words: the candidates of query `q` are offsets[q] .. offsets[q + 1]
// in, out  faults: one word. The launch for the first page adds the number of candidates that name no entry, or an entry
//          that names no slot
// out      distances, slots: word `i` for candidates[i], if its slot lies in the page. The launch for the first page also
//          writes infinity to distances and NOTHING to slots, for the candidates that count as faults
// launch   for each page, at least candidates / TILE workgroups, rounded up; each computes TILE distances
// does     A team of TEAM threads computes RUN distances at a time: the threads read neighboring parts of a vector, and add
//          up their sums by a tree reduction. If a sum of squares of a cosine overflows or underflows in single precision,
//          one thread computes that distance again from scaled numbers.
// needs    offsets that ascend from 0 to search.candidates

@group(0) @binding(0) var<uniform> search: Search;
#if QUADS
@group(0) @binding(1) var<storage, read> queries: array<vec4<f32>>;
#else
@group(0) @binding(1) var<storage, read> queries: array<f32>;
#endif
#if HALF
#if QUADS
@group(0) @binding(2) var<storage, read> vectors: array<vec2<u32>>;
#else
@group(0) @binding(2) var<storage, read> vectors: array<u32>;
#endif
#else
#if QUADS
@group(0) @binding(2) var<storage, read> vectors: array<vec4<f32>>;
#else
@group(0) @binding(2) var<storage, read> vectors: array<f32>;
#endif
#endif
@group(0) @binding(3) var<storage, read> entries: array<u32>;
@group(0) @binding(4) var<storage, read> candidates: array<u32>;
@group(0) @binding(5) var<storage, read> offsets: array<u32>;
@group(0) @binding(6) var<storage, read_write> distances: array<u32>;
@group(0) @binding(7) var<storage, read_write> slots: array<u32>;
@group(0) @binding(8) var<storage, read_write> faults: array<atomic<u32>>;

#if QUADS
alias Part = vec4<f32>;
#else
alias Part = f32;
#endif

// The sums of each thread, for each candidate of its team.
var<workgroup> partials: array<f32, RUN * SUMS * GROUP>;

@compute @workgroup_size(GROUP)
fn ivf_distance(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let group = group_id.y * groups.x + group_id.x;
    let lane = thread % TEAM;
    let first = group * TILE + thread / TEAM * RUN;
#if QUADS
    let parts = search.dimension / 4u;
#else
    let parts = search.dimension;
#endif

    // For candidates that this launch does not compute, the thread reads the first vector, and writes nothing.
    var slot: array<u32, RUN>;
    var query: array<u32, RUN>;
    var owner = query_of(first);
#repeat r RUN
        slot[r] = NOTHING;
        query[r] = 0u;
        if (first + r < search.candidates) {
            while (offsets[owner + 1u] <= first + r) {
                owner++;
            }
            query[r] = owner;
            slot[r] = slot_of(first + r);
        }
#end
    var sums: array<vec3<f32>, RUN>;
    for (var part = lane; part < parts; part += TEAM) {
#repeat r RUN
        let other = vector_part(place_in_page(slot[r]) * search.stride + part);
        let mine = queries[query[r] * parts + part];
        sums[r] += terms(mine, other);
#end
    }
#repeat r RUN
        put_sums(r * SUMS * GROUP + thread, sums[r]);
#end
    workgroupBarrier();
    for (var reach = TEAM / 2u; reach > 0u; reach /= 2u) {
        if (lane < reach) {
            for (var i = 0u; i < RUN * SUMS; i++) {
                partials[i * GROUP + thread] += partials[i * GROUP + thread + reach];
            }
        }
        workgroupBarrier();
    }
    // The first threads of the team write a result each; if there are fewer than RUN, they write several.
    for (var r = lane; r < RUN; r += TEAM) {
        let candidate = first + r;
        if (candidate < search.candidates) {
            write_result(candidate, slot_of(candidate), r * SUMS * GROUP + thread - lane);
        }
    }
}

// Returns the query of a candidate: the first whose candidates end after it.
fn query_of(candidate: u32) -> u32 {
    var low = 0u;
    var high = search.queries - 1u;
    while (low < high) {
        let middle = (low + high) / 2u;
        if (offsets[middle + 1u] <= candidate) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low;
}

// Returns the slot of a candidate; NOTHING if its entry or the slot does not exist.
fn slot_of(candidate: u32) -> u32 {
    let entry = candidates[candidate];
    if (entry >= search.entries) {
        return NOTHING;
    }
    let slot = entries[entry];
    return select(NOTHING, slot, slot < search.capacity);
}

fn is_in_page(slot: u32) -> bool {
    return slot >= search.page_first && slot - search.page_first < search.page_slots;
}

fn place_in_page(slot: u32) -> u32 {
    return select(0u, slot - search.page_first, is_in_page(slot));
}

fn vector_part(at: u32) -> Part {
#if HALF
#if QUADS
    let words = vectors[at];
    return vec4(unpack2x16float(words.x), unpack2x16float(words.y));
#else
    let halves = unpack2x16float(vectors[at / 2u]);
    return select(halves.x, halves.y, at % 2u == 1u);
#endif
#else
    return vectors[at];
#endif
}

#if QUADS
fn sum_of(part: Part) -> f32 {
    return (part.x + part.y) + (part.z + part.w);
}
#else
fn sum_of(part: Part) -> f32 {
    return part;
}
#endif

#if COSINE
fn terms(mine: Part, other: Part) -> vec3<f32> {
    return vec3(sum_of(mine * other), sum_of(mine * mine), sum_of(other * other));
}
#endif
#if INNER
fn terms(mine: Part, other: Part) -> vec3<f32> {
    return vec3(sum_of(mine * other), 0.0, 0.0);
}
#endif
#if L2
fn terms(mine: Part, other: Part) -> vec3<f32> {
    let difference = mine - other;
    return vec3(sum_of(difference * difference), 0.0, 0.0);
}
#endif

fn put_sums(at: u32, sums: vec3<f32>) {
    partials[at] = sums.x;
#if COSINE
    partials[at + GROUP] = sums.y;
    partials[at + 2u * GROUP] = sums.z;
#endif
}

// Returns the distance that the sums at `at` make. A cosine is right only if are_plain().
fn distance_at(at: u32) -> f32 {
#if L2
    return partials[at];
#endif
#if INNER
    return -partials[at];
#endif
#if COSINE
    return 1.0 - partials[at] / (sqrt(partials[at + GROUP]) * sqrt(partials[at + 2u * GROUP]));
#endif
}

#if COSINE
// Returns whether single precision holds these sums of squares, and the product of their roots.
fn are_plain(query: f32, vector: f32) -> bool {
    let squares = vec2(bitcast<u32>(query), bitcast<u32>(vector));
    return all(squares >= vec2(LEAST_SQUARES)) && all(squares <= vec2(MOST_SQUARES));
}

fn largest_of(part: Part) -> f32 {
#if QUADS
    let numbers = abs(part);
    return max(max(numbers.x, numbers.y), max(numbers.z, numbers.w));
#else
    return abs(part);
#endif
}

// Returns the power of two that scales the largest number of a vector to at least 1 and below 4; 0 if the vector counts
// as zero.
fn scale_of(largest: f32) -> f32 {
    let exponent = bitcast<u32>(largest) >> 23u;
    return select(bitcast<f32>(max(254u - exponent, 1u) << 23u), 0.0, exponent == 0u);
}

// Returns one minus the cosine of vectors of any size. One thread reads both of them twice; such vectors are rare.
fn scaled_cosine(query: u32, vector: u32) -> f32 {
#if QUADS
    let parts = search.dimension / 4u;
#else
    let parts = search.dimension;
#endif
    var largest = vec2(0.0);
    for (var part = 0u; part < parts; part++) {
        largest = max(largest, vec2(largest_of(queries[query * parts + part]), largest_of(vector_part(vector + part))));
    }
    let scale = vec2(scale_of(largest.x), scale_of(largest.y));
    if (scale.x == 0.0 || scale.y == 0.0) {
        return 1.0;
    }
    var sums = vec3(0.0);
    for (var part = 0u; part < parts; part++) {
        sums += terms(queries[query * parts + part] * scale.x, vector_part(vector + part) * scale.y);
    }
    return 1.0 - sums.x / (sqrt(sums.y) * sqrt(sums.z));
}
#endif

fn write_result(candidate: u32, slot: u32, at: u32) {
    if (slot == NOTHING && search.page_first == 0u) {
        atomicAdd(&faults[0], 1u);
        distances[candidate] = INFINITY_BITS;
        slots[candidate] = NOTHING;
    } else if (is_in_page(slot)) {
        var distance = distance_at(at);
#if COSINE
        if (!are_plain(partials[at + GROUP], partials[at + 2u * GROUP])) {
            distance = scaled_cosine(query_of(candidate), place_in_page(slot) * search.stride);
        }
#endif
        let bits = bitcast<u32>(distance);
        // A result that is not a number loses its sign, so that it sorts last.
        distances[candidate] = select(bits, NOT_A_NUMBER, (bits & 0x7fffffffu) > INFINITY_BITS);
        slots[candidate] = slot;
    }
}
