#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes sea_surface_temperature.npy from statsmodels' copy of the data set (see README.md).

    pip download --no-deps statsmodels && unzip -j statsmodels-*.whl 'statsmodels/datasets/elnino/elnino.csv'
    ./convert.py elnino.csv
"""
import csv
import pathlib
import struct
import sys


def main(source):
    with open(source, newline="") as file:
        rows = [[float(field) for field in row[1:]] for row in list(csv.reader(file))[1:]]
    assert all(len(row) == 12 for row in rows)
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 12), }" % len(rows)
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    data = b"".join(struct.pack("<12d", *row) for row in rows)
    target = pathlib.Path(__file__).with_name("sea_surface_temperature.npy")
    target.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
