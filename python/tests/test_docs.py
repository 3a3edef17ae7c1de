"""The examples in the help texts, in the README and in the guide are right, and programs that use the types are checked by mypy."""

import doctest
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import polysort
import pytest


def test_examples():
    tests = doctest.DocTestFinder().find(polysort, globs={"np": np, "polysort": polysort})
    runner = doctest.DocTestRunner()
    attempted = sum(runner.run(test).attempted for test in tests)
    assert runner.summarize(verbose=False).failed == 0
    assert attempted >= 8, attempted


PAGES = {name: pathlib.Path(__file__).parents[2] / name for name in ("docs/guide/src/python.md", "python/README.md")}


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_pages(page):
    """Runs the Python of a page. Lines that need a GPU run on the CPU if none opens. A GPU that is software sorts fewer keys."""
    if not PAGES[page].exists():
        pytest.skip("the tests are not in the repository")
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGES[page].read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks, "the page has no Python"
    for block in blocks:
        if "gpu" not in polysort.backends():
            block = block.replace('backend="gpu"', 'backend="cpu"')
        elif os.environ.get("POLYSORT_SOFTWARE_GPU") == "1":
            block = block.replace("10_000_000", "100_000")
        names = {}
        exec(compile(block, page, "exec"), names)
        check_examples(names)


def check_examples(names):
    """Checks what the examples of both pages computed."""
    keys, order = names["keys"], names["order"]
    assert (keys[:-1] <= keys[1:]).all()  # sorted in place
    assert (order == np.argsort(-keys, kind="stable")).all()
    assert (names["best"] == keys[: -len(names["best"]) - 1 : -1]).all() and (keys[names["where"]] == names["best"]).all()
    assert (names["sorted_keys"] == keys).all() and (names["moved"] == names["indices"]).all()


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
