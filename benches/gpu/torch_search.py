"""The search of measure_search by torch: torch_search.py DIMENSIONS VECTORS QUERIES CANDIDATES K TRIALS [METRIC] [PRECISION].

Gathers the candidates, computes their distances, and selects the nearest of each query. Prints rows as measure_search does: of the whole, from
candidates and queries on the host and back to it, and of the device alone; and how fast the device reads, as the sum of 8 GiB. A row is verified if the
distances are those of the nearest candidates, computed with 64 bits, within `tolerance`; and if the indices name different candidates at these distances, computed
again with the same precision, within `again`.
"""

import sys
import time

import torch
from rows import print_row, warm_up

dimensions, (vectors, queries, candidates, k, trials) = sys.argv[1], map(int, sys.argv[2:7])
metric = sys.argv[7] if len(sys.argv) > 7 else "l2"
precision = sys.argv[8] if len(sys.argv) > 8 else "f32"


# How far a computed distance may be from the exact one, as a part of the largest distance. torch adds up numbers of the precision of the vectors.
tolerance = 0.02 if precision == "f16" else 1e-4
# How far two computations with the same precision may differ, which add up in another order.
again = 2e-3 if precision == "f16" else 1e-5


def row(what: str, nanos: list[int], size: int, verified: bool) -> None:
    print_row(what, precision, f"top {k}", queries * candidates, nanos, verified, size)


def timed(run) -> tuple[list[int], list[int], object]:
    """Wall and device nanoseconds of each run, after half a second of them, and what the last run returned."""

    def waited() -> None:
        run()
        torch.cuda.synchronize()

    warm_up(waited)
    wall, device, result = [], [], None
    for _ in range(trials):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start = time.perf_counter_ns()
        begin.record()
        result = run()
        end.record()
        torch.cuda.synchronize()
        wall.append(time.perf_counter_ns() - start)
        device.append(int(begin.elapsed_time(end) * 1e6))
    return wall, device, result


def distances(found, asked):
    if metric == "l2":
        return ((found - asked) ** 2).sum(-1)
    if metric == "inner":
        return -(found * asked).sum(-1)
    return 1 - torch.nn.functional.cosine_similarity(found, asked, dim=-1)


def search(store, asked, listed):
    found = store[listed.view(-1)].view(queries, candidates, -1)
    near = torch.topk(distances(found, asked[:, None, :]).float(), k, largest=False, sorted=True)
    return near.values, listed.gather(1, near.indices)


def is_right(store, asked, listed, result) -> bool:
    """Whether the result of a search has the distances and the indices of the nearest candidates."""
    values, near = (part.cuda() for part in result)
    for query in range(queries):
        exact = distances(store[listed[query]].double(), asked[query].double())
        same = distances(store[listed[query]], asked[query]).double()
        found = distances(store[near[query]], asked[query]).double()
        largest, own = exact.abs().max(), near[query][:, None]
        # Candidates may be listed several times.
        is_listed = (own == near[query]).sum(1) <= (own == listed[query]).sum(1)
        if not is_listed.all() or not (values[query].diff() >= 0).all():
            return False
        if not ((values[query] - exact.sort().values[:k]).abs() <= tolerance * largest).all():
            return False
        if not ((found - same.sort().values[:k]).abs() <= again * largest).all():
            return False
    return True


for dimension in map(int, dimensions.split(",")):
    generator = torch.Generator().manual_seed(1)
    kind = torch.float16 if precision == "f16" else torch.float32
    store = (torch.rand(vectors, dimension, generator=generator) - 0.5).to(kind).cuda()
    asked = (torch.rand(queries, dimension, generator=generator) - 0.5).to(kind)
    listed = torch.randint(0, vectors, (queries, candidates), generator=generator)
    size = queries * candidates * dimension * (2 if precision == "f16" else 4)
    name = f"ivf {metric} {dimension} x {queries} x {candidates}"
    there, lists = asked.cuda(), listed.cuda()
    _, nanos, result = timed(lambda: search(store, there, lists))
    row(f"{name} device", nanos, size, is_right(store, there, lists, result))
    nanos, _, result = timed(lambda: [part.cpu() for part in search(store, asked.cuda(), listed.cuda())])
    row(f"{name} whole", nanos, size, is_right(store, there, lists, result))

big = torch.ones(1 << 31, device="cuda")
_, nanos, total = timed(lambda: big.sum())
row("read 8 GiB", nanos, big.numel() * 4, total.item() == big.numel())
