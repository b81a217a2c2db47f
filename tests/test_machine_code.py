"""Kernels call kernels, linked or shared, compiled here or loaded from the cache, in any version of numba."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from quorate import machine_code
from quorate.compiled import kernel, shared_kernel

SHARED = """
import sys
import numpy as np
from quorate import compiled, machine_code
compiled.compile_here()
if sys.argv[1] == "quickly":
    machine_code.compile_quickly()


@compiled.kernel
def doubled(x):
    return 2.0 * x


@compiled.shared_kernel
def total(least, x, out):
    if x.size < least:
        raise ValueError("too few")
    out[0] = 0.0
    for value in x:
        out[0] += doubled(value)
    return out[0]


@compiled.kernel
def twice(least, x):
    out = np.empty(1)
    return total(1, x, out) + total(least, x, out) + x.max()


@compiled.shared_kernel
def outer(least, x):
    return twice(least, x)


@compiled.kernel
def outermost(least, x):
    return outer(least, x)


@compiled.kernel
def mixed(i, x):
    return (i + 1) * 2.0 + (i + x) - (x + 1) + 3 // 2 + (x > i)


def sums():
    print(mixed(2, 0.5), mixed(0.5, 2), mixed(2, 3))
    print(outermost(0, np.arange(4.0)), twice(0, np.arange(4.0)))
    try:
        outermost(9, np.arange(4.0))
    except ValueError as error:
        print(error)
"""


@pytest.mark.parametrize("how", ["slowly", "quickly"])
def test_shared_kernels_are_called_by_address_also_from_the_cache(tmp_path, how):
    (tmp_path / "shared.py").write_text(SHARED)
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": paths}
    told = []
    for _ in range(2):
        command = [sys.executable, "-c", "import shared; shared.sums()", how]
        told.append(subprocess.run(command, capture_output=True, text=True, env=env, check=True).stdout)
        (stored,) = (tmp_path / "cache").rglob("shared.total-*.nbi")
        changed = stored.stat().st_mtime_ns
    assert told == ["8.0 4.5 9.0\n27.0 27.0\ntoo few\n"] * 2
    assert stored.stat().st_mtime_ns == changed
    assert {path.name.split("-")[0] for path in Path(tmp_path / "cache").rglob("*.nbi")} == {
        "shared.mixed", "shared.total", "shared.twice", "shared.outer", "shared.outermost",
    }  # fmt: skip


def test_a_cache_of_another_version_counts_as_empty(tmp_path):
    """Its index may name classes that no longer exist; numba then fails to read it."""
    numba = pytest.importorskip("numba")
    index = machine_code.index_file()(cache_path=str(tmp_path), filename_base="kernel", source_stamp="new")
    gone = b"cquorate.learning.problem\nNoSuchClass\n."
    (tmp_path / "kernel.nbi").write_bytes(pickle.dumps(numba.__version__) + gone)
    assert index.load("signature") is None


@kernel
def doubled(x):
    return 2.0 * x


@kernel
def doubled_and_one(x):
    return doubled(x) + 1.0


@shared_kernel
def tripled(x):
    return doubled(x) + x


@kernel
def tripled_and_one(x):
    return tripled(x) + 1.0


@pytest.mark.parametrize(("outer", "result"), [(doubled_and_one, 7.0), (tripled, 9.0), (tripled_and_one, 10.0)])
@pytest.mark.parametrize("links", [True, False])
def test_a_kernel_calls_another_in_any_version_of_numba(monkeypatch, links, outer, result):
    monkeypatch.setattr(machine_code, "links_inner_kernels", lambda: links)
    fresh = kernel(outer.py_func)
    assert fresh.dispatcher(3.0) == result


def test_internals_of_numba_are_used_only_in_versions_that_were_tested(monkeypatch):
    linking = machine_code.links_inner_kernels.__wrapped__
    for version, links in (("0.68.1", True), ("0.68.0", False), ("0.68.10", False), ("0.69.0", False)):
        monkeypatch.setattr(machine_code, "version", lambda _, version=version: version)
        assert linking() == links


@pytest.mark.parametrize("gone", ["numba.core.codegen:NoSuchLibrary", "numba.core.no_such_module:name"])
def test_where_a_name_is_missing_kernels_are_compiled_one_by_one(monkeypatch, gone):
    linking = machine_code.links_inner_kernels.__wrapped__
    monkeypatch.setattr(machine_code, "version", lambda _: "0.68.1")
    monkeypatch.setattr(machine_code, "_INTERNALS", (*machine_code._INTERNALS, gone))
    monkeypatch.setattr(machine_code, "links_inner_kernels", linking)
    assert not machine_code.links_inner_kernels()
    machine_code.compile_quickly()
    assert kernel(tripled_and_one.py_func).dispatcher(2.0) == 7.0
