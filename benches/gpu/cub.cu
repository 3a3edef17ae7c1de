// CUB's device-wide radix sort, its sort of segments, and its merge, beside ours: the same lengths, resident data, device time by events.
//
//   nvcc -O3 -arch=sm_90 cub.cu -o cub && ./cub KEYS PAYLOAD LENGTHS TRIALS [PATTERN | SEGMENTS | merge]
//
// KEYS: u8, u16, u32, f32, u64; PAYLOAD: none, u32, u64; LENGTHS: powers of two, as 16,20,24; SEGMENTS: as segments:12 for 2^12 of the same
// length, or segments:zipf for 2^20 whose lengths are as 1, 1/2, 1/3 and so on. Prints one row a length: system, backend, algorithm, keys,
// payload, n, median, p5 and p95 in nanoseconds, 10^9 keys a second, whether the result is sorted. The environment variable SEED, a number, makes
// other keys.

#include "measure.cuh"
#include <cstring>
#include <cub/cub.cuh>
#if __has_include(<cub/device/device_merge.cuh>)
#include <cub/device/device_merge.cuh>
#define HAS_MERGE 1
#endif
#include <string>

struct Nothing {};

// Pseudo-random words for keys of a length, and of the environment variable SEED.
States states_of(size_t n) {
    const char *seed = std::getenv("SEED");
    return {0x123456789abcdef0u ^ n ^ (seed ? std::strtoull(seed, nullptr, 10) << 40 : 0)};
}

// Of keys of 32 bits: sorted, equal, low16, which is uniform in the low 16 bits; else uniform.
std::string pattern;

// Whether to merge two sorted runs instead.
bool merges = false;

// How long segments are, if not everything is one.
std::string segments;

// Where each of the segments of `n` keys begins, and the last ends.
std::vector<uint32_t> offsets_of(size_t n) {
    std::vector<uint32_t> offsets = {0};
    if (segments == "zipf") {
        // The harmonic number of 2^20 is 14.44. A multiplication by an odd number puts the ranks out of order.
        for (uint32_t i = 0; i < 1u << 20; i++) {
            uint64_t rank = (i * 0x9e3779b1u) % (1u << 20) + 1;
            offsets.push_back(offsets.back() + uint32_t(n * 2 / (29 * rank)));
        }
        offsets.push_back(uint32_t(n));
    } else {
        size_t count = size_t(1) << std::atoi(segments.c_str());
        for (size_t i = 1; i <= count; i++) offsets.push_back(uint32_t(n / count * i));
    }
    return offsets;
}

template <typename K, typename V> struct Sort {
    static constexpr bool pairs = !std::is_same_v<V, Nothing>;
    size_t count;
    K *input, *keys[2];
    V *values[2] = {nullptr, nullptr};
    void *scratch = nullptr;
    size_t scratch_bytes = 0;
    std::vector<uint32_t> bounds;
    uint32_t *offsets = nullptr;

    explicit Sort(size_t n) : count(n) {
        std::vector<uint8_t> bytes(n * sizeof(K));
        States states = states_of(n);
        for (size_t i = 0; i < bytes.size(); i += 8) {
            uint64_t word = states.word();
            std::memcpy(&bytes[i], &word, std::min<size_t>(8, bytes.size() - i));
        }
        uint32_t *words = reinterpret_cast<uint32_t *>(bytes.data());
        for (size_t i = 0; i < bytes.size() / 4; i++) {
            if (pattern == "sorted") words[i] = uint32_t(i);
            if (pattern == "equal") words[i] = 0x9e3779b9u;
            if (pattern == "low16") words[i] &= 0xffffu;
        }
        CHECK(cudaMalloc(&input, bytes.size()));
        CHECK(cudaMemcpy(input, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
        for (int i = 0; i < 2; i++) {
            CHECK(cudaMalloc(&keys[i], bytes.size()));
            if constexpr (pairs) CHECK(cudaMalloc(&values[i], n * sizeof(V)));
        }
        if (!segments.empty()) {
            bounds = offsets_of(n);
            CHECK(cudaMalloc(&offsets, bounds.size() * 4));
            CHECK(cudaMemcpy(offsets, bounds.data(), bounds.size() * 4, cudaMemcpyHostToDevice));
        }
        launch();
        CHECK(cudaMalloc(&scratch, scratch_bytes));
    }

    ~Sort() {
        cudaFree(offsets), cudaFree(input), cudaFree(keys[0]), cudaFree(keys[1]), cudaFree(values[0]), cudaFree(values[1]), cudaFree(scratch);
    }

    // Returns where the sorted keys are. Without scratch, only tells how much it needs.
    K *launch() {
        cub::DoubleBuffer<K> k(keys[0], keys[1]);
        if constexpr (pairs) {
            cub::DoubleBuffer<V> v(values[0], values[1]);
            if (offsets)
                CHECK(cub::DeviceSegmentedSort::StableSortPairs(scratch, scratch_bytes, k, v, count, bounds.size() - 1, offsets, offsets + 1));
            else CHECK(cub::DeviceRadixSort::SortPairs(scratch, scratch_bytes, k, v, count));
        } else if (offsets) {
            CHECK(cub::DeviceSegmentedSort::SortKeys(scratch, scratch_bytes, k, count, bounds.size() - 1, offsets, offsets + 1));
        } else {
            CHECK(cub::DeviceRadixSort::SortKeys(scratch, scratch_bytes, k, count));
        }
        return k.Current();
    }

    void restore() { CHECK(cudaMemcpyAsync(keys[0], input, count * sizeof(K), cudaMemcpyDeviceToDevice)); }
};

struct Less {
    template <typename K> __host__ __device__ bool operator()(const K &one, const K &other) const { return one < other; }
};

// Two sorted runs of `n` keys each, and their merge. Rows have the number of keys of both runs.
#ifdef HAS_MERGE
template <typename K, typename V> void run_merge(const char *key, const char *payload, size_t n, int trials) {
    constexpr bool pairs = !std::is_same_v<V, Nothing>;
    std::vector<K> host[2];
    K *runs[2], *merged;
    V *values[2] = {nullptr, nullptr}, *merged_values = nullptr;
    States states = states_of(n);
    for (int r = 0; r < 2; r++) {
        host[r].resize(n);
        for (K &k : host[r]) k = K(states.word() >> (64 - 8 * sizeof(K)));
        CHECK(cudaMalloc(&runs[r], n * sizeof(K)));
        CHECK(cudaMemcpy(runs[r], host[r].data(), n * sizeof(K), cudaMemcpyHostToDevice));
        // The device sorts the run: a sort on the host would take minutes.
        K *sorted;
        void *room = nullptr;
        size_t room_bytes = 0;
        CHECK(cudaMalloc(&sorted, n * sizeof(K)));
        CHECK(cub::DeviceRadixSort::SortKeys(room, room_bytes, runs[r], sorted, n));
        CHECK(cudaMalloc(&room, room_bytes));
        CHECK(cub::DeviceRadixSort::SortKeys(room, room_bytes, runs[r], sorted, n));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaFree(runs[r]));
        CHECK(cudaFree(room));
        runs[r] = sorted;
        if constexpr (pairs) CHECK(cudaMalloc(&values[r], n * sizeof(V)));
    }
    CHECK(cudaMalloc(&merged, 2 * n * sizeof(K)));
    if constexpr (pairs) CHECK(cudaMalloc(&merged_values, 2 * n * sizeof(V)));
    void *scratch = nullptr;
    size_t scratch_bytes = 0;
    Less less;
    auto launch = [&] {
        if constexpr (pairs) {
            CHECK(cub::DeviceMerge::MergePairs(scratch, scratch_bytes, runs[0], values[0], n, runs[1], values[1], n, merged, merged_values, less));
        } else {
            CHECK(cub::DeviceMerge::MergeKeys(scratch, scratch_bytes, runs[0], n, runs[1], n, merged, less));
        }
    };
    auto copy = [&] {
        for (int r = 0; r < 2; r++) {
            CHECK(cudaMemcpyAsync(merged + r * n, runs[r], n * sizeof(K), cudaMemcpyDeviceToDevice));
            if constexpr (pairs) CHECK(cudaMemcpyAsync(merged_values + r * n, values[r], n * sizeof(V), cudaMemcpyDeviceToDevice));
        }
    };
    launch();
    CHECK(cudaMalloc(&scratch, scratch_bytes));
    warm_up(launch);
    Clock clock;
    std::vector<double> of_merges, of_copies;
    for (int i = 0; i < trials; i++) {
        of_copies.push_back(clock.nanos(copy));
        of_merges.push_back(clock.nanos(launch));
    }
    std::vector<K> found(2 * n);
    CHECK(cudaMemcpy(found.data(), merged, 2 * n * sizeof(K), cudaMemcpyDeviceToHost));
    bool verified = std::is_sorted(found.begin(), found.end());
    print_row("DeviceMerge", key, payload, 2 * n, of_merges, verified);
    print_row("cudaMemcpy", key, payload, 2 * n, of_copies, verified);
    cudaFree(runs[0]), cudaFree(runs[1]), cudaFree(values[0]), cudaFree(values[1]), cudaFree(merged), cudaFree(merged_values), cudaFree(scratch);
}
#endif

template <typename K, typename V> void run(const char *key, const char *payload, size_t n, int trials) {
    if (merges) {
#ifdef HAS_MERGE
        run_merge<K, V>(key, payload, n, trials);
#else
        std::fprintf(stderr, "this CUB has no DeviceMerge\n"), std::exit(2);
#endif
        return;
    }
    Sort<K, V> sort(n);
    warm_up([&] { sort.restore(), sort.launch(); });
    Clock clock;
    std::vector<double> nanos;
    K *sorted = nullptr;
    for (int i = 0; i < trials; i++) {
        sort.restore();
        nanos.push_back(clock.nanos([&] { sorted = sort.launch(); }));
    }
    std::vector<K> host(n);
    CHECK(cudaMemcpy(host.data(), sorted, n * sizeof(K), cudaMemcpyDeviceToHost));
    bool verified = sort.bounds.empty() && std::is_sorted(host.begin(), host.end());
    for (size_t i = 1; i < sort.bounds.size(); i++) {
        verified = (i == 1 || verified) && std::is_sorted(host.begin() + sort.bounds[i - 1], host.begin() + sort.bounds[i]);
    }
    std::string algorithm = segments.empty() ? "DeviceRadixSort" : "DeviceSegmentedSort " + segments;
    print_row(algorithm.c_str(), key, payload, n, nanos, verified);
}

template <typename K> void choose(const char *key, const std::string &payload, const char *lengths, int trials) {
    for (const char *at = lengths; at && *at; at = std::strchr(at, ',') ? std::strchr(at, ',') + 1 : nullptr) {
        size_t n = size_t(1) << std::atoi(at);
        if (payload == "u32") run<K, uint32_t>(key, "u32", n, trials);
        else if (payload == "u64") run<K, uint64_t>(key, "u64", n, trials);
        else run<K, Nothing>(key, "none", n, trials);
    }
}

int main(int argc, char **argv) {
    if (argc < 5) return std::fprintf(stderr, "usage: cub KEYS PAYLOAD LENGTHS TRIALS\n"), 2;
    std::string key = argv[1];
    int trials = std::atoi(argv[4]);
    if (argc > 5) pattern = argv[5];
    if (pattern == "merge") merges = true, pattern = "";
    if (pattern.rfind("segments:", 0) == 0) segments = pattern.substr(9), pattern = "";
    if (pattern != "" && pattern != "sorted" && pattern != "equal" && pattern != "low16") {
        std::fprintf(stderr, "no pattern %s\n", pattern.c_str());
        return 2;
    }
    if (key == "u8") choose<uint8_t>("u8", argv[2], argv[3], trials);
    else if (key == "u16") choose<uint16_t>("u16", argv[2], argv[3], trials);
    else if (key == "f32") choose<uint32_t>("u32", argv[2], argv[3], trials);
    else if (key == "u64") choose<uint64_t>("u64", argv[2], argv[3], trials);
    else choose<uint32_t>("u32", argv[2], argv[3], trials);
}
