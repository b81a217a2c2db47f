"""The compiled core is built where there is no compiler, and what was built computes the same."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from quorate import core
from quorate.model.learning.problem import numbers_of
from quorate.model.prior import hyperprior

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ["core", "src", "setup.py", "pyproject.toml", "README.md", "LICENSE"]


@pytest.fixture
def bare(tmp_path):
    """A Python of its own, and an environment without any program."""
    (tmp_path / "no-programs").mkdir()
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP", "http"))}
    environment = {**kept, "PATH": str(tmp_path / "no-programs"), "HOME": str(tmp_path)}
    return tmp_path / "venv" / "bin" / "python", environment


def test_without_any_compiler_the_build_says_what_to_install(bare, tmp_path):
    python, environment = bare
    call = [python, ROOT / "core" / "build.py", tmp_path / "library"]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "C++20 compiler" in done.stderr and "ziglang" in done.stderr and "Traceback" not in done.stderr


def test_a_wrong_compiler_is_named(tmp_path):
    call = [sys.executable, ROOT / "core" / "build.py", tmp_path / "library"]
    environment = os.environ | {"CXX": "no-such-compiler"}
    done = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "no-such-compiler" in done.stderr and "Traceback" not in done.stderr


def test_no_source_needs_the_headers_of_python():
    assert not [path for path in (ROOT / "core").iterdir() if path.is_file() and b"Python.h" in path.read_bytes()]


def results(functions):
    """Numbers of all parts: beliefs of finite and infinite pools, a fit, an expected gain."""
    rng = np.random.default_rng(4)
    alpha, votes = rng.gamma(0.7, 2.0, (200, 7)) + 1e-3, rng.integers(0, 3, (200, 7))
    out, mass, fitted, info = np.empty(alpha.shape), np.empty(200), np.empty(2 + 7 + 7), np.empty(4)
    functions["plurality_finite"](alpha, votes, np.full(200, 30), out, mass)
    yield out.copy()
    functions["plurality_infinite"](alpha + votes, out)
    yield out.copy()
    logs, start = np.log(rng.dirichlet(np.ones(7), (200, 1))), np.ones(fitted.size)
    functions["fit"](start, logs, votes, fitted, info, False, *numbers_of(hyperprior("value"), 7))
    yield fitted
    gains = [functions["expected_gain"](*row, np.ones((0, 0)), 9) for row in zip(alpha, votes, out, strict=True)]
    yield np.array(gains)


def test_without_a_compiler_it_is_built_with_zig_and_computes_the_same(bare, tmp_path):
    python, environment = bare
    (tmp_path / "source").mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / "source" / name)
    for built in (tmp_path / "source/src/quorate").glob("_core.*"):
        built.unlink()
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-deps", tmp_path / "source"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    (made,) = (tmp_path / "venv").glob("lib/python*/site-packages/quorate/_core.*")
    library = ctypes.CDLL(str(made))
    functions = {name: core.Function(name, each.declaration, library) for name, each in core.FUNCTIONS.items()}
    for ours, theirs in zip(results(core.FUNCTIONS), results(functions), strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-12, atol=1e-14)
