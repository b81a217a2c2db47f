"""Shared by all tests: one thread for each parallel worker, and the folder of the real data."""

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


# folders whose tests are traced for coverage, like CORE in the Makefile; all others run untraced, which is faster
TRACED = {"model", "methods", "session", "streams", "audit", "core", "validate", "rng"}


def pytest_configure(config):
    """Make a worker use one tracer: it inherits that of a single pytest, which would resume when its own pauses."""
    plugin = config.pluginmanager.getplugin("_cov")
    if os.environ.get("PYTEST_XDIST_WORKER") and plugin is not None and plugin.cov_controller is not None:
        plugin.cov_controller.pause()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Trace only the tests of the core, because a tracer costs a third of the time."""
    plugin = item.config.pluginmanager.getplugin("_cov")
    path = [part.removeprefix("test_").removesuffix(".py") for part in item.path.parts]
    if plugin is None or plugin.cov_controller is None or not TRACED.isdisjoint(path):
        return (yield)
    if item.get_closest_marker("no_cover"):  # the plugin is paused; resuming twice would start a second tracer
        return (yield)
    plugin.cov_controller.pause()
    try:
        return (yield)
    finally:
        plugin.cov_controller.resume()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Do not collect doctests in tests: there are none, and searching takes seconds."""
    found = yield
    return [each for each in found if not isinstance(each, DoctestModule)]


def in_memory() -> Path | None:
    """A folder in memory, if there is space: tests kill processes, not the machine, so no disk is needed."""
    folder = Path("/dev/shm")
    return folder if os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > 2**30 else None


if os.environ.get("PYTEST_XDIST_WORKER"):
    for _name in ONE_THREAD:  # before NumPy is imported
        os.environ.setdefault(_name, "1")
if in_memory():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(in_memory()))  # where every tmp_path lies


REAL_DATA = os.environ.get("QUORATE_DATA")  # before any test sets it to a folder of its own


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data sets; tests that need it are skipped if it is missing."""
    folder = REAL_DATA
    if not folder:
        pytest.skip("QUORATE_DATA is not set: it must name the folder with imagenet16h_shift.npz and the other sets")
    if not Path(folder).is_dir():
        pytest.fail(f"QUORATE_DATA={folder!r} is not a folder")
    return Path(folder)


CPU, MANY = "cpu", 60.0  # what a test took of the processors; in runs that took more seconds it is summed by folder
_began = pytest.StashKey[float]()


def _cpu() -> float:
    """CPU seconds of this process and of the children it has waited for."""
    return sum(os.times()[:4])


def pytest_runtest_setup(item):
    item.stash[_began] = _cpu()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Add the test's CPU seconds to its report."""
    report = yield
    if call.when == "teardown" and _began in item.stash:
        report.user_properties.append((CPU, _cpu() - item.stash[_began]))
    return report


def _tell_cpu(terminalreporter):
    """Print CPU seconds by folder, so that a slow folder is visible on a busy machine too."""
    taken = Counter()
    for report in terminalreporter.getreports(""):
        folder = "/".join(Path(report.nodeid.split("::")[0]).parts[:2])
        taken[folder] += sum(value for name, value in getattr(report, "user_properties", []) if name == CPU)
    if taken.total() > MANY:
        terminalreporter.section(f"processor seconds by folder, {taken.total():.0f} in all")
        terminalreporter.write_line(", ".join(f"{name} {value:.0f}" for name, value in taken.most_common()))


COUNTS = "counts"  # what a test records under this name is told at the end of the run


def pytest_terminal_summary(terminalreporter):
    """The counts that tests recorded: votes sent, acknowledged, stored and lost under each fault."""
    told = [
        value
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        for name, value in getattr(report, "user_properties", [])
        if name == COUNTS
    ]
    _tell_cpu(terminalreporter)
    if told:
        terminalreporter.section("counts")
        for line in dict.fromkeys(told):
            terminalreporter.write_line(line)
