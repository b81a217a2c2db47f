"""What importance samples change: the benchmark on a few real items."""

import importlib.util
import sys
from pathlib import Path

import pytest

from quorate.datasets import imagenet16h_shift
from quorate.streams import prepare

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.timing
def test_a_thousand_samples_ask_more_than_their_closed_form_and_take_longer(data_dir, monkeypatch):
    spec = importlib.util.spec_from_file_location("importance_sampling", ROOT / "benchmarks" / "importance_sampling.py")
    bench = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, bench)
    spec.loader.exec_module(bench)
    stream = prepare(imagenet16h_shift.load(data_dir), bench.POOL, bench.MODEL, bench.SEED)
    sampled, closed = (bench.measured(stream, kind, num_items=60, repeats=2) for kind in ("sampled", "closed"))
    assert 0 < closed.votes[0] < sampled.votes[0] <= bench.POOL
    assert sampled.seconds[0] > closed.seconds[0]
