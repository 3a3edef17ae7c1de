"""Sorts TPC-H's lineitem with DataFusion, polysort in DataFusion, DuckDB and polars in turns, from the same Parquet files.

In data/datafusion:

    cargo build --release -p polysort-datafusion-bench
    python3 -m venv target/peers && target/peers/bin/pip install duckdb polars pyarrow
    target/peers/bin/python bench/peers.py --order-by target/release/order_by --folder target/lineitem-1 --scale 1 --threads 2 > record.csv

Each system reads the files, sorts, and hands over all columns of all rows, without a copy to a file or a table:

    datafusion, polysort   batches of 8192 rows, which are read and dropped
    duckdb                 the same, as a reader of Arrow batches
    duckdb-offset          one row: `OFFSET` skips the others, so that nothing is converted to Arrow
    polars                 a data frame
    polars-streaming       batches of the streaming engine, which are read and dropped

A system has a process of its own, which waits while others run; both sorts of DataFusion share one. Each process runs the query once before it is timed. The
program order_by compares the answers of both sorts of DataFusion. The answers of DuckDB and polars are right if they are sorted, and if the number of the rows and
the sums of their columns are those of the files.
"""

import argparse
import json
import os
import subprocess
import sys
import time

KEYS = ["l_shipdate", "l_orderkey"]
SUMS = ["l_orderkey", "l_partkey", "l_linenumber", "l_extendedprice", "l_shipdate", "l_comment"]


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--order-by", default="target/release/order_by", help="the program order_by")
    parser.add_argument("--folder", required=True, help="the folder of the Parquet files, which order_by makes if it does not exist")
    parser.add_argument("--scale", default="1", help="the scale factor, if the files are made")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--without", default="", help="systems that do not run, with commas between them")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args()


class DuckDB:
    def __init__(self, args, offset):
        import duckdb

        self.version = duckdb.__version__
        self.connection = duckdb.connect()
        self.connection.execute(f"SET threads = {args.threads}")
        self.files = os.path.join(args.folder, "*.parquet")
        # The order of equal rows is free, as in the other systems.
        self.connection.execute("SET preserve_insertion_order = false")
        self.query = f"SELECT * FROM read_parquet('{self.files}') ORDER BY {', '.join(KEYS)}"
        self.rows = self.connection.execute(f"SELECT count(*) FROM read_parquet('{self.files}')").fetchall()[0][0]
        self.offset = self.rows - 1 if offset else None

    def run(self):
        if self.offset is not None:
            return self.offset + len(self.connection.execute(f"{self.query} OFFSET {self.offset}").fetchall())
        return sum(batch.num_rows for batch in self.batches())

    def batches(self):
        return self.connection.sql(self.query).to_arrow_reader(8192)

    def answer(self):
        import polars

        return polars.from_arrow(self.batches().read_all())


class Polars:
    def __init__(self, args, streaming):
        import polars

        self.version, self.polars, self.streaming = polars.__version__, polars, streaming
        self.query = polars.scan_parquet(os.path.join(args.folder, "*.parquet")).sort(KEYS)

    def run(self):
        if self.streaming:
            return sum(batch.height for batch in self.query.collect_batches(engine="streaming", maintain_order=True))
        return self.query.collect(engine="in-memory").height

    def answer(self):
        if self.streaming:
            return self.polars.concat(self.query.collect_batches(engine="streaming", maintain_order=True))
        return self.query.collect(engine="in-memory")


SYSTEMS = {
    "duckdb": lambda args: DuckDB(args, offset=False),
    "duckdb-offset": lambda args: DuckDB(args, offset=True),
    "polars": lambda args: Polars(args, streaming=False),
    "polars-streaming": lambda args: Polars(args, streaming=True),
}


def sums(frame):
    """The number of rows, and a sum of each of some columns."""
    import polars

    column = lambda name: polars.col(name).str.len_bytes() if name == "l_comment" else polars.col(name).to_physical()
    return frame.lazy().select(polars.len(), *(column(name).cast(polars.Int128).sum() for name in SUMS)).collect().row(0)


def verified(system, args):
    import polars

    # DuckDB's `OFFSET` has no answer of all rows: that of the query without it is checked.
    answer = system.answer()
    keys = answer.select(polars.struct(polars.col(name).to_physical().cast(polars.Int64) for name in KEYS)).to_series()
    expected = sums(polars.scan_parquet(os.path.join(args.folder, "*.parquet")))
    return keys.is_sorted() and sums(answer) == expected, answer.height


def work(args):
    """Times the query for each line of the standard input."""
    system = SYSTEMS[args.worker](args)
    right, rows = verified(system, args)
    print(json.dumps({"version": system.version, "verified": right, "rows": rows}), flush=True)
    for _ in sys.stdin:
        start = time.perf_counter_ns()
        read = system.run()
        elapsed = time.perf_counter_ns() - start
        if read != rows:
            sys.exit(f"{args.worker} put out {read} of {rows} rows")
        print(elapsed, flush=True)


def start(command, threads):
    environment = {**os.environ, "POLARS_MAX_THREADS": str(threads)}
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(process, line):
    process.stdin.write(line + "\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def main():
    args = parse()
    if args.worker:
        return work(args)
    ours = [args.order_by, "--serve", "--parquet", args.folder, "--scale", args.scale, "--threads", str(args.threads)]
    datafusion = start(ours, args.threads)
    # It has compared its two answers by then.
    if datafusion.stdout.readline() != "ready\n":
        sys.exit("order_by failed")
    systems = {name: (datafusion, "", "true") for name in ["datafusion", "polysort"]}
    rows = None
    for name in SYSTEMS.keys() - set(args.without.split(",")):
        process = start([sys.executable, __file__, *sys.argv[1:], "--worker", name], args.threads)
        said = json.loads(process.stdout.readline())
        rows = said["rows"]
        systems[name] = (process, said["version"], str(said["verified"]).lower())
    times = {name: [] for name in systems}
    for round in range(args.rounds + 1):
        names = list(systems)
        for name in names[round % len(names) :] + names[: round % len(names)]:
            nanoseconds = ask(systems[name][0], name)
            # The first round warms up.
            if round > 0:
                times[name].append(nanoseconds)
            print(f"# round {round}: {name} {nanoseconds / 1e9:.3f} s", file=sys.stderr, flush=True)
    print("system,version,source,query,rows,threads,median_ns,min_ns,max_ns,reps,verified")
    for name, measured in times.items():
        _, version, right = systems[name]
        measured.sort()
        middle = measured[len(measured) // 2]
        print(f"{name},{version},parquet,\"{' '.join(KEYS)}\",{rows},{args.threads},{middle},{measured[0]},{measured[-1]},{len(measured)},{right}")
    for process in {process for process, _, _ in systems.values()}:
        process.stdin.close()
        process.wait()
    sys.exit(any(right != "true" for _, _, right in systems.values()))


main()
