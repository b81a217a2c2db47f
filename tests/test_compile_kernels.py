"""Every kernel is compiled once, by two processes if there are two processors, and the marker is created last."""

import subprocess
import sys

import pytest

from quorate import compile_kernels, compiled


@pytest.mark.parametrize(
    "calls",
    [
        compile_kernels.session_calls,
        compile_kernels.single_calls,
        compile_kernels.stream_calls,
        compile_kernels.calls_of_experts,
    ],
)
def test_every_call_can_be_made(calls):
    for call in calls():
        call()


def _name(call):
    return getattr(call, "func", call).__name__


@pytest.fixture
def made(monkeypatch, tmp_path):
    """The calls made in this process (recorded, not run), and the marker."""
    calls = []
    monkeypatch.setattr(compile_kernels, "_run", lambda each: calls.extend(_name(call) for call in each))
    monkeypatch.setattr(compiled, "compile_here", lambda: None)
    monkeypatch.setattr(compile_kernels.os, "nice", lambda _: None)
    monkeypatch.setattr(compiled, "marker_file", lambda: tmp_path / "marker")
    return calls, tmp_path / "marker"


@pytest.mark.parametrize("code", [0, 1, None])
def test_streams_are_compiled_here_unless_a_second_process_did(made, monkeypatch, code):
    calls, marker = made
    child = None if code is None else subprocess.Popen([sys.executable, "-c", f"raise SystemExit({code})"])
    monkeypatch.setattr(compile_kernels, "_second_process", lambda: child)
    compile_kernels.main()
    assert ("simulate" in calls) == (code != 0)
    assert "live" in calls and marker.exists()


def test_what_another_process_compiled_is_left_alone(made):
    calls, marker = made
    marker.touch()
    compile_kernels.main()
    assert calls == []


def test_without_a_folder_it_says_what_to_set(made, monkeypatch):
    monkeypatch.setattr(compiled, "marker_file", lambda: None)
    with pytest.raises(SystemExit, match="NUMBA_CACHE_DIR"):
        compile_kernels.main()


def test_one_processor_gets_no_second_process(monkeypatch):
    monkeypatch.setattr(compile_kernels.os, "cpu_count", lambda: 1)
    assert compile_kernels._second_process() is None
