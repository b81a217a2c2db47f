"""Every kernel is compiled once, by two processes if there are two processors, and the marker is created last."""

import io
import subprocess
import sys

import pytest

from quorate import compile_kernels, compiled, simulate
from quorate.datasets import synthetic


@pytest.mark.parametrize(
    "calls",
    [
        compile_kernels.belief_calls,
        compile_kernels.look_ahead_calls,
        compile_kernels.rule_calls,
        compile_kernels.learning_calls,
        compile_kernels.stream_calls,
        compile_kernels.small_calls,
        compile_kernels.other_calls,
        compile_kernels.expert_calls,
        compile_kernels.answer_calls,
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
    monkeypatch.setattr(compile_kernels, "_prepare", lambda: None)
    monkeypatch.setattr(compile_kernels.os, "nice", lambda _: None)
    monkeypatch.setattr(compiled, "marker_file", lambda: tmp_path / "marker")
    return calls, tmp_path / "marker"


@pytest.mark.parametrize(("code", "looks", "learns", "others"), [
    ("said(); said(); input(); said()", False, False, False), ("said(); said(); 1 / 0", False, False, True),
    ("said(); 1 / 0", False, True, True), ("print('a warning')", True, True, True), (None, True, True, True),
])  # fmt: skip
def test_what_the_second_process_did_not_compile_is_compiled_here(made, monkeypatch, code, looks, learns, others):
    calls, marker = made
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    said = f"said = lambda: print({compile_kernels.COMPILED!r}, flush=True)\n"
    child = code and subprocess.Popen([sys.executable, "-c", said + code], **pipes)
    monkeypatch.setattr(compile_kernels, "_helper", lambda: child)
    compile_kernels.main()
    found = ("expected_gain" in calls, "fit" in calls, "pick_label" in calls, "live" in calls)
    assert found == (looks, learns, others, others)
    order = ["belief_into", "rule_asks", "simulate", "run_crowd", "shrunk_params"]
    assert sorted(order, key=calls.index) == order
    assert marker.exists() and marker.with_suffix(compiled.EXPERTS).exists()


def test_what_another_process_compiled_is_left_alone(made):
    calls, marker = made
    marker.touch()
    compile_kernels.main()
    assert "simulate" not in calls and "run_crowd" in calls
    calls.clear()
    compile_kernels.main()
    assert calls == []


@pytest.mark.parametrize("line", ["rules\n", ""])
def test_the_second_process_says_what_is_compiled_and_goes_on_if_the_first_does(made, capsys, monkeypatch, line):
    monkeypatch.setattr(compile_kernels, "_run", lambda each: print(*map(_name, each)))
    monkeypatch.setattr(sys, "stdin", io.StringIO(line))
    compile_kernels.help_main()
    looks, first, learns, second, *others = capsys.readouterr().out.splitlines()
    assert "expected_gain" in looks and "fit" in learns and first == second
    assert "pick_label" in others[0] and len(others) == (3 if line else 1)
    assert not line or ("live" in others[1] and others[2] == first)


def test_the_second_process_keeps_the_priority_of_the_first(made, monkeypatch):
    steps = []
    monkeypatch.setattr(compile_kernels.os, "nice", steps.append)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    compile_kernels.help_main()
    assert steps == []
    monkeypatch.setattr(compile_kernels, "_helper", lambda: steps.append("helper"))
    compile_kernels.main()
    assert steps == [5, "helper", 5], "it is started at 5; the kernels of experts are compiled at 10"


@pytest.mark.parametrize(("arguments", "begun"), [([], ["main"]), (["helper"], ["help_main"]), (["streams"], [])])
def test_unknown_arguments_are_refused(monkeypatch, arguments, begun):
    started = []
    for name in ("main", "help_main"):
        monkeypatch.setattr(compile_kernels, name, lambda name=name: started.append(name))
    if begun:
        compile_kernels.start(arguments)
    else:
        with pytest.raises(SystemExit, match="streams"):
            compile_kernels.start(arguments)
    assert started == begun


def test_every_kernel_that_answers_without_votes_call_is_compiled(monkeypatch):
    """Such as `evaluate` and `hessian`, which others contain and which are therefore not stored by themselves."""
    called = set()
    call = compiled.Kernel.__call__

    def noted(kernel, *arguments):
        called.add(kernel.__name__)
        return call(kernel, *arguments)

    monkeypatch.setattr(compiled.Kernel, "__call__", noted)
    for part in ("belief", "look_ahead", "rule", "learning", "small", "stream", "other", "answer"):
        for each in getattr(compile_kernels, f"{part}_calls")():
            each()
    stored = called.copy()
    called.clear()
    data = synthetic(num_items=40, num_classes=3, pool_size=3, seed=0)
    simulate(data, "value:window=20,refit_every=5", seed=0, query_free_after=30)
    assert called >= {"compress", "empty_traces", "evaluate", "hessian", "factorise", "dense_step"}
    assert called <= stored


def test_without_a_folder_it_says_what_to_set(made, monkeypatch):
    monkeypatch.setattr(compiled, "marker_file", lambda: None)
    with pytest.raises(SystemExit, match="NUMBA_CACHE_DIR"):
        compile_kernels.main()


def test_one_processor_gets_no_second_process(monkeypatch):
    monkeypatch.setattr(compile_kernels.os, "cpu_count", lambda: 1)
    assert compile_kernels._helper() is None


@pytest.mark.parametrize(("parents", "pauses"), [([7, 7, 7, 1], 2), ([7] * 99, 4)])
def test_crowds_and_panels_wait_while_the_parent_runs_but_not_for_ever(made, monkeypatch, parents, pauses):
    calls, marker = made
    marker.touch()
    asked, clock = iter(parents), [0.0]
    monkeypatch.setattr(compile_kernels.os, "getppid", lambda: next(asked))
    monkeypatch.setattr(compile_kernels.time, "monotonic", lambda: clock[0])

    def sleep(seconds):
        clock.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr(compile_kernels.time, "sleep", sleep)
    monkeypatch.setattr(compile_kernels, "PAUSE", 2.0)
    compile_kernels.start(["later"])
    assert len(clock) - 1 == pauses
    assert "run_crowd" in calls
