// What the CUDA peers share: they warm up, take percentiles and print rows as polysort-measure does.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

#define CHECK(call)                                                                                                                        \
    do {                                                                                                                                   \
        cudaError_t status = (call);                                                                                                       \
        if (status != cudaSuccess) {                                                                                                       \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));                                                           \
            std::exit(1);                                                                                                                  \
        }                                                                                                                                  \
    } while (0)

// Repeats `work` for half a second: the clock of an idle device is low.
template <typename Work> void warm_up(Work work) {
    auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(500)) {
        for (int i = 0; i < 8; i++) work();
        CHECK(cudaDeviceSynchronize());
    }
}

// Times work on the device by events.
class Clock {
    cudaEvent_t begin, end;

  public:
    Clock() {
        CHECK(cudaEventCreate(&begin));
        CHECK(cudaEventCreate(&end));
    }

    ~Clock() { cudaEventDestroy(begin), cudaEventDestroy(end); }

    Clock(const Clock &) = delete;

    // Returns the nanoseconds of `work`.
    template <typename Work> double nanos(Work work) {
        CHECK(cudaEventRecord(begin));
        work();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        return ms * 1e6;
    }
};

// The states of an xorshift generator, as `states` of polysort-measure.
struct States {
    uint64_t state;

    uint64_t next() { return state ^= state << 13, state ^= state >> 7, state ^= state << 17; }

    // The next pseudo-random word, as `words` of polysort-measure.
    uint64_t word() { return next() * 0x2545f4914f6cdd1dull; }
};

// Prints a row, as `Line` of polysort-measure: system, backend, algorithm, keys, payload, n, the median, p5 and p95 in nanoseconds, 10^9 keys a second, whether
// the result is right.
inline void print_row(const char *algorithm, const char *key, const char *payload, size_t n, std::vector<double> nanos, bool is_right) {
    std::sort(nanos.begin(), nanos.end());
    auto at = [&](int percent) { return nanos[std::max<size_t>((nanos.size() * percent + 99) / 100, 1) - 1]; };
    std::printf("cub,cub,%s,%s,%s,%zu,%.0f,%.0f,%.0f,%.2f,%s\n", algorithm, key, payload, n, at(50), at(5), at(95), n / at(50),
                is_right ? "true" : "false");
    std::fflush(stdout);
}
