"""The search of measure_search by torch: torch_search.py DIMENSIONS VECTORS QUERIES CANDIDATES K TRIALS [METRIC] [PRECISION].

Gathers the candidates, computes their distances, and selects the nearest of each query. Prints rows as measure_search does: of the whole, from
candidates and queries on the host and back to it, and of the device alone; and how fast the device reads, as the sum of 8 GiB.
"""

import sys
import time

import torch
from rows import print_row, warm_up

dimensions, (vectors, queries, candidates, k, trials) = sys.argv[1], map(int, sys.argv[2:7])
metric = sys.argv[7] if len(sys.argv) > 7 else "l2"
precision = sys.argv[8] if len(sys.argv) > 8 else "f32"


def row(what: str, nanos: list[int], size: int) -> None:
    print_row(what, precision, f"top {k}", queries * candidates, nanos, True, size)


def timed(run) -> tuple[list[int], list[int]]:
    """Wall and device nanoseconds of each run, after half a second of them."""

    def waited() -> None:
        run()
        torch.cuda.synchronize()

    warm_up(waited)
    wall, device = [], []
    for _ in range(trials):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start = time.perf_counter_ns()
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        wall.append(time.perf_counter_ns() - start)
        device.append(int(begin.elapsed_time(end) * 1e6))
    return wall, device


def search(store, asked, listed):
    found = store[listed.view(-1)].view(queries, candidates, -1)
    asked = asked[:, None, :]
    if metric == "l2":
        distances = ((found - asked) ** 2).sum(-1)
    elif metric == "inner":
        distances = -(found * asked).sum(-1)
    else:
        distances = 1 - torch.nn.functional.cosine_similarity(found, asked, dim=-1)
    near = torch.topk(distances.float(), k, largest=False, sorted=True)
    return near.values, listed.gather(1, near.indices)


for dimension in map(int, dimensions.split(",")):
    generator = torch.Generator().manual_seed(1)
    kind = torch.float16 if precision == "f16" else torch.float32
    store = (torch.rand(vectors, dimension, generator=generator) - 0.5).to(kind).cuda()
    asked = (torch.rand(queries, dimension, generator=generator) - 0.5).to(kind)
    listed = torch.randint(0, vectors, (queries, candidates), generator=generator)
    size = queries * candidates * dimension * (2 if precision == "f16" else 4)
    name = f"ivf {metric} {dimension} x {queries} x {candidates}"
    there, lists = asked.cuda(), listed.cuda()
    row(f"{name} device", timed(lambda: search(store, there, lists))[1], size)
    row(f"{name} whole", timed(lambda: [part.cpu() for part in search(store, asked.cuda(), listed.cuda())])[0], size)

big = torch.ones(1 << 31, device="cuda")
row("read 8 GiB", timed(lambda: big.sum())[1], big.numel() * 4)
