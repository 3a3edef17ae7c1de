"""What the torch peers share: they warm up, take percentiles and print rows as polysort-measure does."""

import time


def warm_up(work) -> None:
    """Repeats work, which waits for the device, for half a second: the clock of an idle device is low."""
    start = time.perf_counter()
    while time.perf_counter() - start < 0.5:
        work()


def percentile(nanos: list[int], percent: int) -> int:
    """The smallest time that at least so many percent of the runs did not exceed."""
    return sorted(nanos)[max(-(-len(nanos) * percent // 100), 1) - 1]


def print_row(algorithm: str, key: str, payload: str, n: int, nanos: list[int], verified: bool, amount: int | None = None) -> None:
    """A row, as `Line` of polysort-measure prints it. A run does amount, in keys or bytes: n if it is left out."""
    median, low, high = (percentile(nanos, percent) for percent in (50, 5, 95))
    speed = (n if amount is None else amount) / median
    print(f"torch,cuda,{algorithm},{key},{payload},{n},{median},{low},{high},{speed:.2f},{str(verified).lower()}", flush=True)
