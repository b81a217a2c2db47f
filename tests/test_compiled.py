"""Kernels are cached on disk, and a change in ANY kernel source invalidates every cached kernel."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import quorate.compiled
from quorate.compiled import sources_digest

PACKAGE = Path(quorate.compiled.__file__).parent
MAKEFILE = Path(__file__).parents[1] / "Makefile"
CALL = """
import sys; sys.path.insert(0, sys.argv[1])
import numpy as np
from quorate.decision.belief import RULE, SETTLED, stop_before_rule
print({RULE: "goes on", SETTLED: "settled"}[stop_before_rule(np.array([4, 0]), 5, 0, 5, True)])
"""


def call(root, tmp_path):
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "QUORATE_KERNELS": "compiled"}
    return subprocess.run([sys.executable, "-c", CALL, str(root)], capture_output=True, text=True, env=env, check=True)


def test_the_digest_covers_every_source_with_a_kernel():
    marked = re.compile("^@(shared_)?kernel", re.MULTILINE)
    holding = {path for path in PACKAGE.rglob("*.py") if marked.search(path.read_text())}
    from quorate.compiled import _KERNEL_SOURCES

    covered = set()
    for name in _KERNEL_SOURCES:
        path = PACKAGE / name
        covered |= set(path.rglob("*.py")) if path.is_dir() else {path}
    assert holding <= covered
    assert len(sources_digest()) == 32


def test_make_compiles_again_when_any_of_these_sources_changed():
    from quorate.compiled import _KERNEL_SOURCES

    (line,) = [each for each in MAKEFILE.read_text().splitlines() if each.startswith("KERNEL_SOURCES")]
    assert set(re.search("find (.+?) -name", line)[1].split()) == set(_KERNEL_SOURCES) >= {"compile_kernels.py"}


def test_a_first_run_says_that_it_compiles_a_second_does_not_and_a_changed_callee_is_noticed(tmp_path):
    root = tmp_path / "copy"
    shutil.copytree(PACKAGE, root / "quorate", ignore=shutil.ignore_patterns("__pycache__"))
    first, second = call(root, tmp_path), call(root, tmp_path)
    assert "compiling" in first.stderr
    assert second.stderr == ""
    assert first.stdout == second.stdout == "settled\n"
    callee = root / "quorate" / "posterior" / "settled.py"
    callee.write_text(callee.read_text().replace("top, second, remaining = 0, 0, pool_size", "return False"))
    changed = call(root, tmp_path)
    assert "compiling" in changed.stderr
    assert changed.stdout == "goes on\n"
