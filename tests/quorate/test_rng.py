from pathlib import Path

import numpy as np
import pytest

from quorate import rng
from quorate.rng import stream, uniform, uniforms


def test_a_stream_is_the_same_everywhere():
    assert stream(3, "item-order", 0).integers(1000, size=4).tolist() == [824, 230, 978, 811]


def test_everything_random_starts_from_a_stream_except_where_the_docstring_says():
    packages = Path(rng.__file__).parents[1]
    own = {
        f"{path.parent.name}.{path.stem}"
        for path in packages.glob("quorate*/**/*.py")
        for line in path.read_text().splitlines()
        if "default_rng(" in line and ">>>" not in line
    }
    assert own == {"people.crowd_stream", "people.agreement", "quorate_paper.as_published", "shift.estimator"}
    assert all(each in rng.__doc__ for each in own)


def test_names_and_seeds_give_different_streams():
    first = [
        float(stream(seed, *names).random())
        for seed, names in [(1, ("a", 1)), (1, ("a", 2)), (2, ("a", 1)), (1, ("a1",))]
    ]
    assert len(set(first)) == 4


def test_uniforms_are_the_first_draws_of_the_numbered_streams():
    assert np.array_equal(uniforms(5, "tie", 3), [stream(5, "tie", t).random() for t in range(3)])


def test_uniforms_are_uniform():
    draws = uniforms(1, "quota", 4000)
    assert abs(draws.mean() - 0.5) < 4 * np.sqrt(1 / 12 / 4000)
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 4 / np.sqrt(4000)


@pytest.mark.parametrize("seed", [0, 7, 2**40])
def test_the_first_draw_of_a_stream_needs_no_generator(seed):
    for names in (("tie", 0), ("replay-audit", "photo 1"), ("é", 12345)):
        assert uniform(seed, *names) == stream(seed, *names).random()
    assert uniforms(seed, "tie", 300).tolist() == [stream(seed, "tie", t).random() for t in range(300)]
