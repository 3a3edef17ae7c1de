// Computes the distance of each candidate from its query, and looks up the slot of the candidate.
//
// Vectors lie in slots. A candidate is an index into `entries`, and `entries[e]` is the number of a slot. A page is a range
// of slots that fits one binding.
//
// in       search; queries: search.queries vectors; vectors: the search.page_slots vectors of one page; entries;
//          candidates; offsets: search.queries + 1 words: the candidates of query `q` are offsets[q] .. offsets[q + 1]
// in, out  faults: one word. The launch for the first page adds the number of faulty candidates. A candidate is faulty if
//          `entries` has no such index, or if the entry is not the number of a slot
// out      distances, slots: word `i` for candidates[i], if its slot lies in the page. The launch for the first page also
//          writes infinity to distances and NOTHING to slots, for faulty candidates
// launch   for each page, at least candidates / TILE threadgroups, rounded up; each computes TILE distances
// does     A team of TEAM threads of one simdgroup computes RUN distances at a time. The threads share each vector: they
//          read neighboring parts of it, and add up the sums of all threads by a tree reduction over lanes. If a sum of
//          squares for a cosine overflows or underflows in single precision, one thread of the team computes this distance
//          again from scaled numbers.
// needs    offsets that ascend from 0 to search.candidates; simdgroups of 32 lanes

static_assert(TEAM <= 32u, "a team lies in one simdgroup");

// The numbers of a vector that a thread reads at a time.
#if QUADS
#define PART 4u

typedef float4 Part;
#else
#define PART 1u

typedef float Part;
#endif

// The numbers as the store keeps them. Two halves are packed in a word.
#if HALF
#if QUADS
typedef uint2 Kept;
#else
typedef uint Kept;
#endif
#else
typedef Part Kept;
#endif

// Returns the query of a candidate: the first whose candidates end after it.
inline uint query_of(uint candidate, const device uint* offsets, constant Search& search) {
    uint low = 0u;
    uint high = search.queries - 1u;
    while (low < high) {
        const uint middle = (low + high) / 2u;
        if (offsets[middle + 1u] <= candidate) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low;
}

// Returns the slot of a candidate; NOTHING if its entry or the slot does not exist.
inline uint slot_of(
    uint candidate, const device uint* candidates, const device uint* entries, constant Search& search) {
    const uint entry = candidates[candidate];
    if (entry >= search.entries) {
        return NOTHING;
    }
    const uint slot = entries[entry];
    return slot < search.capacity ? slot : NOTHING;
}

inline bool is_in_page(uint slot, constant Search& search) {
    return slot >= search.page_first && slot - search.page_first < search.page_slots;
}

inline Part vector_part(const device Kept* vectors, uint at) {
#if HALF
#if QUADS
    const uint2 words = vectors[at];
    return float4(float2(as_type<half2>(words.x)), float2(as_type<half2>(words.y)));
#else
    const float2 halves = float2(as_type<half2>(vectors[at / 2u]));
    return at % 2u == 1u ? halves.y : halves.x;
#endif
#else
    return vectors[at];
#endif
}

#if QUADS
inline float sum_of(Part part) {
    return (part.x + part.y) + (part.z + part.w);
}
#else
inline float sum_of(Part part) {
    return part;
}
#endif

// Adds the terms of two parts to the sums that make a distance.
inline void add_terms(Part mine, Part other, thread float* sums) {
#if COSINE
    sums[0] += sum_of(mine * other);
    sums[1] += sum_of(mine * mine);
    sums[2] += sum_of(other * other);
#endif
#if INNER
    sums[0] += sum_of(mine * other);
#endif
#if L2
    const Part difference = mine - other;
    sums[0] += sum_of(difference * difference);
#endif
}

// Returns the bits of the sum of a team's values, to all threads of the team.
inline uint team_sum(float sum, uint lane) {
#pragma unroll
    for (uint reach = TEAM / 2u; reach > 0u; reach /= 2u) {
        sum += simd_shuffle_down(sum, static_cast<ushort>(reach));
    }
    return simd_shuffle(as_type<uint>(sum), static_cast<ushort>(lane - lane % TEAM));
}

inline bool is_number(uint bits) {
    return (bits & 0x7fffffffu) <= INFINITY_BITS;
}

// Returns the bits of a distance. Metal's compiler may assume that it computes with finite numbers. So the function
// looks at the bits of the sums, which came from other lanes as integers. A result that is not a number loses its sign,
// so that it sorts last.
inline uint distance_of(const thread uint* sums) {
#if L2
    // A sum of squares of finite numbers may be infinite, but is always a number.
    return sums[0];
#endif
#if INNER
    return is_number(sums[0]) ? sums[0] ^ 0x80000000u : NOT_A_NUMBER;
#endif
#if COSINE
    const float norms = precise::sqrt(as_type<float>(sums[1])) * precise::sqrt(as_type<float>(sums[2]));
    return as_type<uint>(1.0f - as_type<float>(sums[0]) / norms);
#endif
}

#if COSINE
// Returns whether single precision holds these sums of squares, and the product of their roots. The numbers of the
// vectors are finite, so that their sums compare by their bits.
inline bool are_plain(uint query, uint vector) {
    return min(query, vector) >= LEAST_SQUARES && max(query, vector) <= MOST_SQUARES;
}

#if QUADS
inline float largest_of(Part part) {
    const float4 numbers = fabs(part);
    return max(max(numbers.x, numbers.y), max(numbers.z, numbers.w));
}
#else
inline float largest_of(Part part) {
    return fabs(part);
}
#endif

// Returns the power of two that scales the largest number of a vector to at least 1 and below 4; 0 if the vector counts
// as zero.
inline float scale_of(float largest) {
    const uint exponent = as_type<uint>(largest) >> 23u;
    return exponent == 0u ? 0.0f : as_type<float>(max(254u - exponent, 1u) << 23u);
}

// Returns the bits of one minus the cosine of vectors of any size. One thread reads both of them twice; such vectors
// are rare.
inline uint scaled_cosine(const device Part* query, const device Kept* vectors, uint start, uint parts) {
    float largest_of_query = 0.0f;
    float largest_of_vector = 0.0f;
    for (uint part = 0u; part < parts; part++) {
        largest_of_query = max(largest_of_query, largest_of(query[part]));
        largest_of_vector = max(largest_of_vector, largest_of(vector_part(vectors, start + part)));
    }
    const float query_scale = scale_of(largest_of_query);
    const float vector_scale = scale_of(largest_of_vector);
    float sums[SUMS] = {0.0f, 1.0f, 1.0f};
    if (query_scale > 0.0f && vector_scale > 0.0f) {
        sums[1] = sums[2] = 0.0f;
        for (uint part = 0u; part < parts; part++) {
            add_terms(query[part] * query_scale, vector_part(vectors, start + part) * vector_scale, sums);
        }
    }
    const uint bits[SUMS] = {as_type<uint>(sums[0]), as_type<uint>(sums[1]), as_type<uint>(sums[2])};
    return distance_of(bits);
}
#endif

[[max_total_threads_per_threadgroup(GROUP)]] kernel void ivf_distance(
    constant Search& search [[buffer(0)]],
    const device Part* queries [[buffer(1)]],
    const device Kept* vectors [[buffer(2)]],
    const device uint* entries [[buffer(3)]],
    const device uint* candidates [[buffer(4)]],
    const device uint* offsets [[buffer(5)]],
    device uint* distances [[buffer(6)]],
    device uint* slots [[buffer(7)]],
    device atomic_uint* faults [[buffer(8)]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]],
    uint index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
    const uint place = lane % TEAM;
    const uint first = group_index(group_id, groups) * TILE + index / TEAM * RUN;
    const uint parts = search.dimension / PART;

    // For candidates that this launch does not compute, the thread reads the first vector, and writes nothing.
    uint slot[RUN];
    uint query[RUN];
    uint start[RUN];
    uint owner = query_of(first, offsets, search);
#pragma unroll
    for (uint r = 0u; r < RUN; r++) {
        slot[r] = NOTHING;
        query[r] = 0u;
        if (first + r < search.candidates) {
            while (offsets[owner + 1u] <= first + r) {
                owner++;
            }
            query[r] = owner * parts;
            slot[r] = slot_of(first + r, candidates, entries, search);
        }
        start[r] = is_in_page(slot[r], search) ? (slot[r] - search.page_first) * search.stride : 0u;
    }
    float sums[RUN][SUMS];
#pragma unroll
    for (uint r = 0u; r < RUN; r++) {
#pragma unroll
        for (uint s = 0u; s < SUMS; s++) {
            sums[r][s] = 0.0f;
        }
    }
    for (uint part = place; part < parts; part += TEAM) {
#pragma unroll
        for (uint r = 0u; r < RUN; r++) {
            add_terms(queries[query[r] + part], vector_part(vectors, start[r] + part), sums[r]);
        }
    }
#pragma unroll
    for (uint r = 0u; r < RUN; r++) {
        uint totals[SUMS];
#pragma unroll
        for (uint s = 0u; s < SUMS; s++) {
            totals[s] = team_sum(sums[r][s], lane);
        }
        // The first threads of the team write a result each; if there are fewer than RUN, they write several.
        const uint candidate = first + r;
        if (place == r % TEAM && candidate < search.candidates) {
            if (slot[r] == NOTHING && search.page_first == 0u) {
                atomic_fetch_add_explicit(faults, 1u, memory_order_relaxed);
                distances[candidate] = INFINITY_BITS;
                slots[candidate] = NOTHING;
            } else if (is_in_page(slot[r], search)) {
                uint distance = distance_of(totals);
#if COSINE
                if (!are_plain(totals[1], totals[2])) {
                    distance = scaled_cosine(queries + query[r], vectors, start[r], parts);
                }
#endif
                distances[candidate] = distance;
                slots[candidate] = slot[r];
            }
        }
    }
}
