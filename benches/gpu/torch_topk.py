"""torch.topk of keys that are on the GPU: torch_topk.py LENGTHS TRIALS K (powers of two, as 24,26).

Prints rows as cub.cu does, device time by events. What it selects comes with indices of 64 bits, in order.
"""

import sys

import torch
from rows import print_row, warm_up


def run(n: int, trials: int, k: int) -> None:
    keys = torch.randint(-(2**31), 2**31 - 1, (n,), dtype=torch.int32, generator=torch.Generator().manual_seed(1)).cuda()

    def select() -> None:
        torch.topk(keys, k, largest=False, sorted=True)
        torch.cuda.synchronize()

    warm_up(select)
    nanos = []
    for _ in range(trials):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        found = torch.topk(keys, k, largest=False, sorted=True)
        end.record()
        end.synchronize()
        nanos.append(int(begin.elapsed_time(end) * 1e6))
    print_row(f"top {k}", "u32", "none", n, nanos, bool((found.values == keys.sort().values[:k]).all()))


for exponent in sys.argv[1].split(","):
    run(1 << int(exponent), int(sys.argv[2]), int(sys.argv[3]))
