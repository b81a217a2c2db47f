"""Interpreted and compiled kernels give the same results to the bit; a first start answers without compiling."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quorate import compiled
from quorate.datasets import synthetic
from quorate.densities import log_gamma
from quorate.learning.fit import fit
from quorate.methods import METHODS, method
from quorate.posterior.duel import duel
from quorate.posterior.finite import plurality_finite
from quorate.posterior.infinite import plurality_infinite
from quorate.session import Session
from quorate.streams import simulate

FIRST_START = """
import sys
import quorate
session = quorate.Session("quorate", classes=["a", "b", "c"], pool_size=5)
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
            patch.setattr(compiled._state, "fixed", not way)
            results.append(call())
    return results


def outcome(name, data, **more):
    done = simulate(data, name, seed=4, window=20, refit_every=5, **more)
    return [np.asarray(getattr(done, each)).tolist() for each in ("costs", "predictions", "confidence", "fits")]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_decides_a_stream_alike(name):
    data = synthetic(num_items=40, num_classes=4, pool_size=6, num_models=2, seed=2)
    chosen = method(name, threshold=0.9) if name in ("finexp", "infexp") else name
    interpreted, made = both_ways(lambda: outcome(chosen, data, model="all"))
    assert interpreted == made


@pytest.mark.parametrize("name", ["quorate", "infexp", "mp"])
def test_a_session_that_switches_in_between_goes_on_alike(name):
    def play(switch_after):
        with pytest.MonkeyPatch.context() as patch:
            session = Session(name, classes=["a", "b", "c"], pool_size=5, seed=1, window=6, refit_every=2)
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
    alpha = data.draw(arrays(float, classes, elements=st.floats(1e-6, 1e4)))
    votes = data.draw(arrays(int, classes, elements=st.integers(0, 12)))
    pool_size = int(votes.sum()) + data.draw(st.integers(0, 30))
    for call in (
        lambda: plurality_finite(alpha, votes, pool_size=max(pool_size, 1)).tolist(),
        lambda: plurality_infinite(alpha, votes).tolist(),
        lambda: duel(alpha + votes),
    ):
        interpreted, made = both_ways(call)
        assert interpreted == made


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


def test_a_first_start_decides_without_importing_the_compiler(tmp_path):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    env.pop(compiled.SWITCH, None)
    done = subprocess.run([sys.executable, "-c", FIRST_START], env=env, capture_output=True, text=True, check=True)
    confidence, status, imported = done.stdout.split()
    assert (status, imported) == ("interpreted", "False")
    session = Session("quorate", classes=["a", "b", "c"], pool_size=5)
    session.open("x", [0.5, 0.3, 0.2])
    assert float(confidence) == session.vote("x", "a", "v1").confidence


def test_without_a_folder_for_the_cache_there_are_answers(tmp_path):
    file = tmp_path / "a file"
    file.touch()
    env = {**os.environ, "NUMBA_CACHE_DIR": str(file / "below")}
    env.pop(compiled.SWITCH, None)
    done = subprocess.run([sys.executable, "-c", FIRST_START], env=env, capture_output=True, text=True, check=True)
    assert "interpreted" in done.stdout
