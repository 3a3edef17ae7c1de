// CUB's search for runs of equal keys beside ours: the same keys, resident data, device time by events.
//
//   nvcc -O3 -arch=sm_90 cub_runs.cu -o cub_runs && ./cub_runs KEYS OUTPUTS LENGTHS RUN TRIALS
//
// KEYS: u32, u64; OUTPUTS: encode (DeviceRunLengthEncode::Encode: first keys and lengths) or unique (DeviceSelect::Unique: first keys); LENGTHS:
// powers of two, as 20,24; RUN: the mean length of a run. Prints one row a length: system, backend, algorithm, keys, payload, n, median, p5 and
// p95 in nanoseconds, 10^9 keys a second, whether the number of runs and their keys are right. The example `measure_runs` of polysort-wgpu makes
// the same keys.

#include "measure.cuh"
#include <cstring>
#include <cub/cub.cuh>
#include <string>

// Ascending keys in runs of 1 to 2 * mean - 1 keys.
template <typename K> std::vector<K> keys_of(size_t n, uint64_t mean) {
    std::vector<K> keys;
    States states = {0x123456789abcdef0u ^ n};
    for (K key = 1; keys.size() < n; key += 3) {
        size_t length = 1 + states.next() % (2 * mean - 1);
        keys.resize(std::min(n, keys.size() + length), key);
    }
    return keys;
}

template <typename K> void run(const char *key, bool encode, size_t n, uint64_t mean, int trials) {
    std::vector<K> host = keys_of<K>(n, mean);
    K *keys, *unique;
    uint32_t *lengths, *count;
    CHECK(cudaMalloc(&keys, n * sizeof(K)));
    CHECK(cudaMalloc(&unique, n * sizeof(K)));
    CHECK(cudaMalloc(&lengths, n * 4));
    CHECK(cudaMalloc(&count, 4));
    CHECK(cudaMemcpy(keys, host.data(), n * sizeof(K), cudaMemcpyHostToDevice));
    void *scratch = nullptr;
    size_t scratch_bytes = 0;
    auto launch = [&] {
        if (encode) CHECK(cub::DeviceRunLengthEncode::Encode(scratch, scratch_bytes, keys, unique, lengths, count, int(n)));
        else CHECK(cub::DeviceSelect::Unique(scratch, scratch_bytes, keys, unique, count, int(n)));
    };
    launch();
    CHECK(cudaMalloc(&scratch, scratch_bytes));
    warm_up(launch);
    Clock clock;
    std::vector<double> nanos;
    for (int i = 0; i < trials; i++) nanos.push_back(clock.nanos(launch));
    uint32_t found;
    CHECK(cudaMemcpy(&found, count, 4, cudaMemcpyDeviceToHost));
    std::vector<K> firsts(found), expected = host;
    CHECK(cudaMemcpy(firsts.data(), unique, found * sizeof(K), cudaMemcpyDeviceToHost));
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    std::string algorithm = encode ? "DeviceRunLengthEncode::Encode" : "DeviceSelect::Unique";
    algorithm += " run:" + std::to_string(mean);
    print_row(algorithm.c_str(), key, "none", n, nanos, firsts == expected);
    cudaFree(keys), cudaFree(unique), cudaFree(lengths), cudaFree(count), cudaFree(scratch);
}

int main(int argc, char **argv) {
    if (argc < 6) return std::fprintf(stderr, "usage: cub_runs KEYS OUTPUTS LENGTHS RUN TRIALS\n"), 2;
    bool encode = std::string(argv[2]) == "encode", wide = std::string(argv[1]) == "u64";
    for (const char *at = argv[3]; at && *at; at = std::strchr(at, ',') ? std::strchr(at, ',') + 1 : nullptr) {
        size_t n = size_t(1) << std::atoi(at);
        if (wide) run<uint64_t>("u64", encode, n, std::strtoull(argv[4], nullptr, 10), std::atoi(argv[5]));
        else run<uint32_t>("u32", encode, n, std::strtoull(argv[4], nullptr, 10), std::atoi(argv[5]));
    }
}
