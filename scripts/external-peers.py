"""Sorts one file within a memory limit with polysort, DuckDB and polars in turn, and checks every result.

    cargo build --release -p polysort-cli
    python3 -m venv target/peers && target/peers/bin/pip install duckdb polars
    target/peers/bin/python scripts/external-peers.py --folder DIR --keys 2**28 --memory 512 --rounds 3 > record.csv

The file is Parquet: one column `k` of random u64, without compression. Each system writes a sorted Parquet file without compression, in a process of its
own, whose peak of resident memory is in the table. The limit of each system is set as its manual says:

    polysort   --memory, on the CPU backend
    duckdb     memory_limit, threads, temp_directory; preserve_insertion_order stays true, as its sort needs no more
    polars     POLARS_OOC_MEMORY_BUDGET_MB and POLARS_OOC_SPILL_DIR, the streaming engine

A row `polysort-bin` sorts the same keys as a .bin file. A row `two copies` reads and writes the Parquet file twice on the same disk.
A result is right if it is sorted, and if the number, the sum and the xor of its keys are those of the input.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True, help="a folder on the disk to measure")
    parser.add_argument("--keys", default="2**24", help="the number of keys")
    parser.add_argument("--memory", type=int, default=64, help="the limit, in MiB")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--polysort", default="target/release/polysort")
    return parser.parse_args()


def measured(command, environment=None):
    """Runs a command. Returns its seconds and the peak of its memory in MiB, or what it said if it failed."""
    start = time.monotonic()
    process = subprocess.Popen(command, env={**os.environ, **(environment or {})}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    return seconds, usage.ru_maxrss / 1024, said if process.returncode else None


def make(parquet, binary, keys, threads):
    """Writes the keys in both formats."""
    import duckdb
    import polars

    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    # The hash of DuckDB is a u64.
    connection.execute(
        f"COPY (SELECT hash(range) AS k FROM range({keys})) TO '{parquet}' (FORMAT parquet, COMPRESSION uncompressed)"
    )
    with open(binary, "wb") as file:
        scan = polars.scan_parquet(parquet)
        for begin in range(0, keys, 1 << 22):
            rows = scan.slice(begin, 1 << 22).collect()["k"]
            file.write(bytes(memory(rows)))


def memory(column):
    """The keys of a column as bytes in memory."""
    import array

    return memoryview(array.array("Q", column.to_list())).cast("B")


def sums(parquet, threads):
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    query = f"SELECT count(*), sum(k::HUGEINT), bit_xor(k) FROM read_parquet('{parquet}')"
    return connection.execute(query).fetchone()


def is_sorted(parquet):
    import polars

    scan, last = polars.scan_parquet(parquet), -1
    count = scan.select(polars.len()).collect().item()
    for begin in range(0, count, 1 << 22):
        keys = scan.slice(begin, 1 << 22).collect()["k"]
        if not keys.is_sorted() or keys[0] < last:
            return False
        last = keys[-1]
    return True


DUCKDB = """
import duckdb, sys
_, parquet, output, memory, threads, spill = sys.argv
connection = duckdb.connect()
connection.execute(f"SET memory_limit = '{memory}MiB'")
connection.execute(f"SET threads = {threads}")
connection.execute(f"SET temp_directory = '{spill}'")
connection.execute(f"COPY (SELECT k FROM '{parquet}' ORDER BY k) TO '{output}' (FORMAT parquet, COMPRESSION uncompressed)")
"""

POLARS = """
import polars, sys
_, parquet, output = sys.argv
polars.scan_parquet(parquet).sort("k").sink_parquet(output, compression="uncompressed", engine="streaming")
"""


def apart(name, *arguments):
    """Calls a function of this file in a process of its own. A process starts with the memory of its parent, so this one stays small."""
    command = [sys.executable, __file__, "--call", json.dumps([name, *arguments])]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def versions():
    import duckdb
    import polars

    return {"duckdb": duckdb.__version__, "polars": polars.__version__}


def main():
    if sys.argv[1:2] == ["--call"]:
        name, *arguments = json.loads(sys.argv[2])
        print(json.dumps(globals()[name](*arguments), default=str))
        return
    args = parse()
    base, _, exponent = args.keys.partition("**")
    keys = int(base) ** int(exponent or 1)
    folder = os.path.join(args.folder, "polysort-external-peers")
    spill = os.path.join(folder, "spill")
    os.makedirs(spill, exist_ok=True)
    parquet, binary, output = (os.path.join(folder, name) for name in ["keys.parquet", "keys.bin", "sorted.parquet"])
    binary_output = os.path.join(folder, "sorted.bin")
    apart("make", parquet, binary, keys, args.threads)
    expected = apart("sums", parquet, args.threads)
    polysort = [args.polysort, "sort"]
    limit = ["--memory", f"{args.memory}M", "--temp", spill]
    threads = {"RAYON_NUM_THREADS": str(args.threads), "POLARS_MAX_THREADS": str(args.threads)}
    budget = {"POLARS_OOC_MEMORY_BUDGET_MB": str(args.memory), "POLARS_OOC_SPILL_DIR": spill}
    systems = {
        "polysort": (polysort + [parquet, "--by", "k", "-o", output] + limit, threads),
        "polysort-bin": (polysort + [binary, "--dtype", "u64", "-o", binary_output] + limit, threads),
        "duckdb": ([sys.executable, "-c", DUCKDB, parquet, output, str(args.memory), str(args.threads), spill], threads),
        "polars": ([sys.executable, "-c", POLARS, parquet, output], {**threads, **budget}),
    }
    ours = subprocess.run([args.polysort, "--version"], capture_output=True, text=True).stdout.split()[-1]
    all_versions = {"polysort": ours, **apart("versions")}
    print(f"# {platform.machine()}, {os.cpu_count()} CPUs, {all_versions}", file=sys.stderr)
    print("round,system,keys,parquet_bytes,limit_mib,threads,seconds,peak_mib,verified", flush=True)
    failed = False
    for round in range(args.rounds):
        start = time.monotonic()
        for source, target in [(parquet, output), (output, output + ".copy")]:
            shutil.copyfile(source, target)
            with open(target, "rb+") as file:
                os.fsync(file.fileno())
        row("two copies", round, args, keys, parquet, time.monotonic() - start, 0, "")
        os.remove(output + ".copy")
        # Another system begins each round.
        names = list(systems)
        for name in names[round % len(names) :] + names[: round % len(names)]:
            command, environment = systems[name]
            for old in [output, binary_output]:
                if os.path.exists(old):
                    os.remove(old)
            seconds, peak, said = measured(command, environment)
            if said is not None:
                print(f"# {name} failed: {said.strip().splitlines()[-1:]}", file=sys.stderr)
                row(name, round, args, keys, parquet, seconds, peak, "failed")
                failed |= name.startswith("polysort")
                continue
            if name == "polysort-bin":
                check = subprocess.run([args.polysort, "verify", binary_output, "--dtype", "u64"], stdout=subprocess.DEVNULL)
                right = check.returncode == 0 and os.path.getsize(binary_output) == 8 * keys
            else:
                right = apart("is_sorted", output) and apart("sums", output, args.threads) == expected
            row(name, round, args, keys, parquet, seconds, peak, str(right).lower())
            failed |= not right
    shutil.rmtree(folder)
    sys.exit(failed)


def row(name, round, args, keys, parquet, seconds, peak, verified):
    size = os.path.getsize(parquet)
    print(f"{round},{name},{keys},{size},{args.memory},{args.threads},{seconds:.2f},{peak:.0f},{verified}", flush=True)


main()
