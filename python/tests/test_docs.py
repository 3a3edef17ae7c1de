"""The examples in the help texts are right, and programs that use the types are checked by mypy."""

import doctest
import subprocess
import sys

import numpy as np
import polysort


def test_examples():
    tests = doctest.DocTestFinder().find(polysort, globs={"np": np, "polysort": polysort})
    runner = doctest.DocTestRunner()
    attempted = sum(runner.run(test).attempted for test in tests)
    assert runner.summarize(verbose=False).failed == 0
    assert attempted >= 8, attempted


PROGRAM = """
import numpy as np
import polysort

ordered: np.ndarray = polysort.sort(np.arange(3), descending=True, backend="cpu")
indices: np.ndarray = polysort.argsort([1.0, 2.0])
keys, at = polysort.top_k([1, 2], 1)
"""


def mypy(program, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(path)]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)


def test_types(tmp_path):
    good = mypy(PROGRAM, tmp_path)
    assert good.returncode == 0, good.stdout + good.stderr
    bad = mypy(PROGRAM + 'polysort.sort([1], backend="tpu")\npolysort.top_k([1])\n', tmp_path)
    assert bad.returncode == 1 and bad.stdout.count("error:") == 2, bad.stdout
