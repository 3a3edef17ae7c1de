"""torch.topk of keys that are on the GPU: torch_topk.py LENGTHS TRIALS K (powers of two, as 24,26).

Prints rows as cub.cu does, device time by events. What it selects comes with indices of 64 bits, in order.
"""

import sys
import time

import torch


def run(n: int, trials: int, k: int) -> None:
    keys = torch.randint(-(2**31), 2**31 - 1, (n,), dtype=torch.int32, generator=torch.Generator().manual_seed(1)).cuda()
    # The clock of an idle device is low.
    start = time.perf_counter()
    while time.perf_counter() - start < 0.5:
        found = torch.topk(keys, k, largest=False, sorted=True)
        torch.cuda.synchronize()
    nanos = []
    for _ in range(trials):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        found = torch.topk(keys, k, largest=False, sorted=True)
        end.record()
        end.synchronize()
        nanos.append(int(begin.elapsed_time(end) * 1e6))
    nanos.sort()
    verified = bool((found.values == keys.sort().values[:k]).all())
    median = nanos[len(nanos) // 2]
    print(f"torch,cuda,top {k},u32,none,{n},{median},{nanos[0]},{nanos[-1]},{n / median:.2f},{str(verified).lower()}", flush=True)


for exponent in sys.argv[1].split(","):
    run(1 << int(exponent), int(sys.argv[2]), int(sys.argv[3]))
