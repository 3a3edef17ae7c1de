"""Writes digits.npy and digit-labels.npy from scikit-learn's digits.csv.gz, which is the argument: rows of 64 pixels and a label."""

import sys

import numpy

rows = numpy.loadtxt(sys.argv[1], delimiter=",").astype(numpy.uint8)
numpy.save("digits.npy", rows[:, :64])
numpy.save("digit-labels.npy", rows[:, 64])
