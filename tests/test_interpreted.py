"""Interpreted and compiled kernels give the same results to the bit; a first start answers without compiling."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quorate import compiled
from quorate.datasets import synthetic
from quorate.decision import backward_pass, look_ahead
from quorate.decision.look_ahead import expected_gain, gains_more_than
from quorate.densities import log_gamma
from quorate.experts.panel_stream import run_panel
from quorate.learning.fit import fit
from quorate.methods import ANONYMOUS, method, with_learning
from quorate.posterior.duel import duel, finite_duel
from quorate.posterior.finite import plurality_finite
from quorate.posterior.infinite import plurality_infinite
from quorate.posterior.infinite_bound import leader_bound
from quorate.posterior.wins_alone import wins_alone
from quorate.session import Session
from quorate.streams import simulate

FIRST_START = """
import sys
import quorate
session = quorate.Session("value", classes=["a", "b", "c"], pool_size=5)
session.open("x", [0.5, 0.3, 0.2])
decision = session.vote("x", "a", "v1")
print(decision.confidence, quorate.compiled.status(), "numba" in sys.modules)
"""


def both_ways(call):
    """The call's result interpreted and compiled."""
    results = []
    for way in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiled._state, "compiled", way)
            patch.setattr(compiled._state, "experts", way)
            patch.setattr(compiled._state, "fixed", not way)
            results.append(call())
    return results


def outcome(name, data, **more):
    done = simulate(data, with_learning(method(name), window=20, refit_every=5), seed=4, **more)
    return [np.asarray(getattr(done, each)).tolist() for each in ("costs", "predictions", "confidence", "fits")]


@pytest.mark.parametrize("name", ANONYMOUS)
def test_every_method_decides_a_stream_alike(name):
    data = synthetic(num_items=40, num_classes=4, pool_size=6, num_models=2, seed=2)
    chosen = method(name, threshold=0.9 if name in ("finexp", "infexp") else None)
    interpreted, made = both_ways(lambda: outcome(chosen, data, model="all"))
    assert interpreted == made


@pytest.mark.parametrize("name", ["value", "infexp", "mp"])
def test_a_session_that_switches_in_between_goes_on_alike(name):
    def play(switch_after):
        with pytest.MonkeyPatch.context() as patch:
            chosen = with_learning(method(name), window=6, refit_every=2)
            session = Session(chosen, classes=["a", "b", "c"], pool_size=5, seed=1)
            rng = np.random.default_rng(3)
            told = []
            for item in range(12):
                patch.setattr(compiled._state, "compiled", item >= switch_after)
                patch.setattr(compiled._state, "fixed", item < switch_after)
                decision = session.open(str(item), rng.dirichlet(np.ones(3)))
                for voter in range(5):
                    decision = session.vote(str(item), "abc"[rng.integers(3)], f"v{voter}")
                    told.append((decision.ask, decision.label, decision.confidence, decision.reason))
        return told, session.params.theta, session.params.tau.tolist()

    assert play(0) == play(6) == play(12)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_posteriors_are_alike(data):
    classes = data.draw(st.integers(2, 6))
    alpha = data.draw(arrays(float, classes, elements=st.one_of(st.floats(1e-6, 1e4), st.floats(1e-300, 1e100))))
    votes = data.draw(arrays(int, classes, elements=st.integers(0, 12)))
    pool_size = int(votes.sum()) + data.draw(st.integers(0, 30))
    for call in (
        lambda: plurality_finite(alpha, votes, pool_size=max(pool_size, 1)).tolist(),
        lambda: plurality_infinite(alpha, votes).tolist(),
        lambda: duel(alpha + votes),
        lambda: leader_bound(alpha + votes),
        lambda: leader_bound(np.minimum(alpha, 1.0) + (votes == votes.max())),
        lambda: finite_duel(alpha, votes, int(votes.sum()) + 3),
        lambda: wins_alone(0, alpha, votes, 20),
    ):
        interpreted, made = both_ways(call)
        assert interpreted == made


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.integers(1, 30), st.booleans())
def test_look_aheads_are_alike(seed, classes, remaining, unequal):
    rng = np.random.default_rng(seed)
    alpha, votes, probs = rng.gamma(0.5, 3.0, classes), rng.integers(4, size=classes), rng.dirichlet(np.ones(classes))
    costs = rng.gamma(1.0, 2.0, (classes, classes)) if unequal else np.zeros((0, 0))
    what = alpha, votes, remaining, probs, costs
    for call in (lambda: expected_gain(*what), lambda: gains_more_than(1e-3, *what)):
        interpreted, made = both_ways(call)
        assert interpreted == made


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.booleans(), st.booleans(), st.integers(2, 7))
def test_plans_are_alike_in_every_state(seed, groups, has_others, unequal, horizon):
    rng = np.random.default_rng(seed)
    classes = groups - (has_others and groups > 2)
    beta, counts = rng.gamma(1.0, 2.0, groups) + 0.01, -np.sort(-rng.integers(4, size=groups))
    costs = rng.gamma(1.0, 2.0, (classes + 1, classes)) if unequal else np.zeros((0, 0))

    def play():
        ranks = backward_pass.state_ranks(groups, horizon)
        last = np.zeros((ranks[groups - 1, horizon + 1], backward_pass.WIDTH))
        look_ahead._last_into(horizon, counts, classes, costs, last)
        rows = last.copy()
        if groups > 2 and not unequal:
            backward_pass.step_all_back(horizon, 0.01, beta, beta.sum(), ranks, classes < groups, rows)
        return last.tolist(), rows.tolist()

    interpreted, made = both_ways(play)
    assert interpreted == made


def test_posteriors_of_a_large_pool_are_alike():
    alpha, votes = [0.4, 2.0, 1.1, 0.3], [3, 2, 0, 1]
    interpreted, made = both_ways(lambda: plurality_finite(alpha, votes, pool_size=200).tolist())
    assert interpreted == made


def test_an_error_of_a_numpy_version_is_not_hidden():
    """Compiled code takes over where Python cannot represent a number, not where the NumPy version is wrong."""

    def wrong(value):
        return np.zeros(2) + np.zeros(3)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled._state, "compiled", False)
        patch.setattr(compiled._state, "fixed", True)
        with pytest.raises(ValueError, match="broadcast"):
            compiled.kernel_or(wrong)(lambda value: value)(1.0)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 4), st.booleans())
def test_fits_are_alike(seed, classes, bias):
    rng = np.random.default_rng(seed)
    predictions = rng.dirichlet(np.ones(classes), size=(30, 1))
    votes = np.array([rng.multinomial(rng.integers(0, 6), row[0]) for row in predictions])
    interpreted, made = both_ways(lambda: fit(predictions, votes, bias=bias)[0])
    assert (interpreted.theta, interpreted.phi) == (made.theta, made.phi)
    assert interpreted.tau.tolist() == made.tau.tolist()


@pytest.mark.parametrize("x", [1e-300, 1e-8, 0.3, 1.0, 1.5, 2.0, 15.999, 16.0, 17.3, 1e5])
def test_log_gamma_is_the_logarithm_of_gamma(x):
    mpmath = pytest.importorskip("mpmath")
    exact = mpmath.loggamma(mpmath.mpf(x))
    assert abs(log_gamma(x) - exact) <= 4e-14 * max(1, abs(exact))
    interpreted, made = both_ways(lambda: log_gamma(x))
    assert interpreted == made


@given(st.floats(0.01, 500))
def test_log_gamma_rises_as_gamma_does(x):
    assert log_gamma(x + 1) - log_gamma(x) == pytest.approx(np.log(x), abs=1e-11)


def test_where_python_overflows_compiled_code_answers():
    alpha, votes = [1e100, 1e-100, 1e-300, 1e100], [0, 2, 0, 1]
    interpreted, made = both_ways(lambda: plurality_infinite(alpha, votes).tolist())
    assert interpreted == made


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """The state of a first start, whose child process runs `code`."""
    children = []

    def start(code, folder=tmp_path):
        monkeypatch.delenv(compiled.SWITCH, raising=False)
        marker = None if folder is None else folder / "marker"
        monkeypatch.setattr(compiled, "marker_file", lambda: marker)
        popen = subprocess.Popen

        def stub(_, **how):
            children.append(popen([sys.executable, "-c", code.format(marker=str(marker))], **how))
            return children[-1]

        monkeypatch.setattr(compiled.subprocess, "Popen", stub)
        monkeypatch.setattr(compiled, "_state", compiled._State())
        return compiled._state, children

    yield start
    for child in children:
        child.wait()


def test_the_process_switches_when_the_child_has_compiled(fresh):
    state, children = fresh("import pathlib; pathlib.Path({marker!r}).touch()")
    assert compiled.status() == "interpreted" and not state.look()
    compiled.wait_until_compiled()
    assert compiled.status() == "compiled" and len(children) == 1


TOUCH = "import pathlib, time; pathlib.Path({marker!r}).touch(); "


@pytest.mark.parametrize("code", [TOUCH + "time.sleep(30)", TOUCH])
def test_crowds_run_interpreted_until_their_own_kernels_are_compiled(fresh, code):
    """They are compiled last; nobody else waits for them, and a child that ends without them leaves answers."""
    state, children = fresh(code)
    compiled.wait_until_compiled()
    assert compiled.status() == "compiled" and not state.experts
    crowd = Session("crowd", classes=["a", "b"], pool_size=2, experts=["ann", "bob"])
    crowd.open("x", 0.6)
    assert crowd.vote("x", "a", "ann").label == "a" and not state.experts
    children[0].kill()
    compiled.wait_until_compiled(of_experts=True)
    assert not state.experts and len(children) == 1


def test_until_then_a_panel_compiles_nothing_in_this_process(monkeypatch):
    """Its kernels call others that are compiled, but only as a part of the kernels that contain them."""

    def play():
        rng = np.random.default_rng(5)
        run = run_panel(rng.integers(0, 3, (8, 4)), rng.dirichlet(np.ones(3), 8), min_gain=0.01)
        return run.probs.tolist(), run.asked.tolist()

    _, made = both_ways(play)
    inner, dispatcher = [], compiled.Kernel.__dict__["dispatcher"]

    def noted(kernel):
        if compiled._thread.inside:
            inner.append(kernel.__name__)
        return dispatcher.__get__(kernel)

    monkeypatch.setattr(compiled.Kernel, "dispatcher", property(noted))
    for name, value in (("compiled", True), ("experts", False), ("fixed", True)):
        monkeypatch.setattr(compiled._state, name, value)
    assert play() == made and inner == []


def test_work_of_crowds_that_can_wait_waits_for_their_own_kernels(fresh):
    _, children = fresh(TOUCH + "time.sleep(30)")
    compiled.wait_until_compiled()
    assert not compiled.will_be_compiled() and compiled.will_be_compiled(of_experts=True)
    assert compiled.status() == "compiled" and compiled.status(of_experts=True) == "compiling"
    compiled.marker_file().with_suffix(compiled.EXPERTS).touch()
    assert not compiled.will_be_compiled(of_experts=True) and compiled.status(of_experts=True) == "compiled"
    children[0].kill()


def test_work_of_crowds_does_not_wait_for_kernels_that_nobody_compiles_any_more(fresh):
    _, children = fresh(TOUCH)
    compiled.wait_until_compiled()
    children[0].wait()
    assert not compiled.will_be_compiled(of_experts=True)
    assert compiled.status() == "compiled" and compiled.status(of_experts=True) == "interpreted"


def test_crowds_switch_when_their_kernels_are_compiled(fresh):
    state, children = fresh(TOUCH + "time.sleep(0.5); pathlib.Path({marker!r} + '.experts').touch()")
    compiled.wait_until_compiled(of_experts=True)
    assert state.compiled and state.experts and len(children) == 1


@pytest.mark.parametrize("code", ["import sys; sys.exit(1)", "pass"])
def test_a_child_that_leaves_no_marker_is_reported_and_nobody_waits(fresh, code, capsys):
    _, children = fresh(code)
    compiled.wait_until_compiled()
    compiled.wait_until_compiled()
    assert compiled.status() == "interpreted" and len(children) == 1
    assert capsys.readouterr().err.count("failed") == 1


def test_without_a_folder_long_work_compiles_in_the_process(fresh):
    _, children = fresh("pass", folder=None)
    compiled.wait_until_compiled()
    assert compiled.status() == "compiled" and not children


def test_a_fixed_choice_starts_no_child(fresh, monkeypatch):
    _, children = fresh("pass")
    compiled.interpret()
    compiled.wait_until_compiled()
    assert compiled.status() == "interpreted"
    compiled.compile_here()
    compiled.wait_until_compiled()
    assert compiled.status() == "compiled" and not children


def test_two_threads_start_one_child(fresh):
    _, children = fresh("import time, pathlib; time.sleep(0.3); pathlib.Path({marker!r}).touch()")
    threads = [threading.Thread(target=compiled.wait_until_compiled) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compiled.status() == "compiled" and len(children) == 1


def test_a_first_start_decides_without_importing_the_compiler(tmp_path):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    env.pop(compiled.SWITCH, None)
    done = subprocess.run([sys.executable, "-c", FIRST_START], env=env, capture_output=True, text=True, check=True)
    confidence, status, imported = done.stdout.split()
    assert (status, imported) == ("interpreted", "False")
    session = Session("value", classes=["a", "b", "c"], pool_size=5)
    session.open("x", [0.5, 0.3, 0.2])
    assert float(confidence) == session.vote("x", "a", "v1").confidence


def test_without_a_folder_for_the_cache_there_are_answers(tmp_path):
    file = tmp_path / "a file"
    file.touch()
    env = {**os.environ, "NUMBA_CACHE_DIR": str(file / "below")}
    env.pop(compiled.SWITCH, None)
    done = subprocess.run([sys.executable, "-c", FIRST_START], env=env, capture_output=True, text=True, check=True)
    assert "interpreted" in done.stdout
