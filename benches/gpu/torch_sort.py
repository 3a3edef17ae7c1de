"""torch.sort of u32-sized keys that start and end on the host: torch_sort.py LENGTHS TRIALS (powers of two, as 20,24,26).

Prints rows as cub.cu does, of whole calls: from pageable memory and from pinned, into memory that is kept; and "cpu", from
pageable memory into a new tensor, as `.cpu()` makes it.
"""

import sys
import time

import torch
from rows import print_row, warm_up


def run(n: int, trials: int, name: str) -> None:
    pinned = name == "pinned"
    keys = torch.randint(-(2**31), 2**31 - 1, (n,), dtype=torch.int32, generator=torch.Generator().manual_seed(1))
    if pinned:
        keys = keys.pin_memory()
    back = torch.empty_like(keys, pin_memory=pinned)

    def once() -> int:
        nonlocal back
        start = time.perf_counter_ns()
        values = keys.cuda(non_blocking=pinned).sort().values
        if name == "cpu":
            back = values.cpu()
        else:
            back.copy_(values)
        torch.cuda.synchronize()
        return time.perf_counter_ns() - start

    warm_up(once)
    nanos = [once() for _ in range(trials)]
    print_row(name, "u32", "none", n, nanos, bool((back[1:] >= back[:-1]).all()))


for exponent in sys.argv[1].split(","):
    for name in ("pageable", "pinned", "cpu"):
        run(1 << int(exponent), int(sys.argv[2]), name)
