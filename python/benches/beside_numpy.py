"""Times polysort beside NumPy, and beside torch and polars if they are installed.

    RAYON_NUM_THREADS=1 python benches/beside_numpy.py            one thread
    python benches/beside_numpy.py --log2 24 --rounds 15          all threads of the machine

The systems of a line take turns in each round, and each result is compared with NumPy's before the first round. A line has the median time of
each system that sorts the type, in milliseconds, and the ratio of NumPy's median to ours: above 1, polysort is faster. Results go to new arrays,
as by numpy.sort.
"""

import argparse
import os
import statistics
import time

import numpy as np
import polysort

try:
    import torch
except ImportError:
    torch = None
try:
    import polars
except ImportError:
    polars = None


def systems_of(operation, keys, backend):
    """The name of each system, with its call. Each call returns a NumPy array or what `array_of` makes one of."""
    if operation == "sort":
        yield "polysort", lambda: polysort.sort(keys, backend=backend)
        yield "numpy", lambda: np.sort(keys)
        if torch:
            tensor = torch.from_numpy(keys)
            yield "torch", lambda: torch.sort(tensor).values
        if polars:
            series = polars.Series(keys)
            yield "polars", lambda: series.sort()
    else:
        yield "polysort", lambda: polysort.argsort(keys, backend=backend)
        yield "numpy", lambda: np.argsort(keys, kind="stable")
        if torch:
            tensor = torch.from_numpy(keys)
            yield "torch", lambda: torch.argsort(tensor, stable=True)
        if polars:
            series = polars.Series(keys)
            yield "polars (not stable)", lambda: series.arg_sort()


def array_of(result):
    return result if isinstance(result, np.ndarray) else result.numpy() if hasattr(result, "numpy") else result.to_numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log2", type=int, nargs="+", default=[16, 20, 24], help="lengths, as powers of two")
    parser.add_argument("--types", nargs="+", default=["float32", "uint32", "int64", "float64"])
    parser.add_argument("--operations", nargs="+", choices=["sort", "argsort"], default=["sort", "argsort"])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--backend", default="cpu")
    arguments = parser.parse_args()

    features = np._core._multiarray_umath.__cpu_features__
    vectors = [name for name in ("AVX2", "AVX512_SKX", "AVX512_ICL", "AVX512_SPR") if features.get(name)]
    print(f"numpy {np.__version__} ({', '.join(vectors)}), polysort on {polysort.describe(arguments.backend)}", end="")
    print(f"; torch {torch.__version__}, {torch.get_num_threads()} threads" if torch else "; no torch", end="")
    print(f"; polars {polars.__version__}, {polars.thread_pool_size()} threads" if polars else "; no polars", end="")
    print(f"; {os.cpu_count()} processors")
    for operation in arguments.operations:
        for dtype in arguments.types:
            for log2 in arguments.log2:
                keys = np.random.default_rng(log2).integers(0, 2**32, 2**log2).astype(dtype)
                systems = list(systems_of(operation, keys, arguments.backend))
                expected = np.sort(keys)
                for name, call in list(systems):
                    try:
                        result = array_of(call())
                    except NotImplementedError:  # torch lacks sorts of some types
                        systems.remove((name, call))
                        continue
                    ordered = result if operation == "sort" else keys[result]
                    assert (ordered == expected).all(), f"{name} is wrong"
                times = {name: [] for name, _ in systems}
                for round_ in range(arguments.rounds):
                    # Each system comes first in some rounds.
                    turn = round_ % len(systems)
                    for name, call in systems[turn:] + systems[:turn]:
                        start = time.perf_counter()
                        call()
                        times[name].append(time.perf_counter() - start)
                medians = {name: statistics.median(of) for name, of in times.items()}
                line = ", ".join(f"{name} {1e3 * median:.3f} ms" for name, median in medians.items())
                print(f"{operation} {dtype} 2^{log2}: {line}; numpy/polysort {medians['numpy'] / medians['polysort']:.2f}x", flush=True)


if __name__ == "__main__":
    main()
