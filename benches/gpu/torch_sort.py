"""torch.sort of u32-sized keys that start and end on the host: torch_sort.py LENGTHS TRIALS (powers of two, as 20,24,26).

Prints rows as cub.cu does: the median of whole calls, from pageable memory and from pinned, into memory that is kept; and "cpu", from
pageable memory into a new tensor, as `.cpu()` makes it.
"""

import sys
import time

import torch


def run(n: int, trials: int, name: str) -> None:
    pinned = name == "pinned"
    keys = torch.randint(-(2**31), 2**31 - 1, (n,), dtype=torch.int32, generator=torch.Generator().manual_seed(1))
    if pinned:
        keys = keys.pin_memory()
    back = torch.empty_like(keys, pin_memory=pinned)
    nanos = []
    for trial in range(trials + 2):
        start = time.perf_counter_ns()
        values = keys.cuda(non_blocking=pinned).sort().values
        if name == "cpu":
            back = values.cpu()
        else:
            back.copy_(values)
        torch.cuda.synchronize()
        if trial >= 2:
            nanos.append(time.perf_counter_ns() - start)
    nanos.sort()
    verified = bool((back[1:] >= back[:-1]).all())
    median = nanos[len(nanos) // 2]
    print(f"torch,cuda,{name},u32,none,{n},{median},{nanos[0]},{nanos[-1]},{n / median:.2f},{str(verified).lower()}", flush=True)


for exponent in sys.argv[1].split(","):
    for name in ("pageable", "pinned", "cpu"):
        run(1 << int(exponent), int(sys.argv[2]), name)
