import sys

import pytest

from quorate.datasets.content import beside, data_folder, find, locate
from quorate.errors import InvalidInput, MissingExtra


def put(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_the_best_name_wins_over_the_nearest_folder(tmp_path):
    second = put(tmp_path / "b.pkl")
    assert find(tmp_path, ["a.npz", "b.pkl"]) == second
    first = put(tmp_path / "raw" / "a.npz")
    assert find(tmp_path, ["a.npz", "b.pkl"]) == first
    assert find(tmp_path, ["c"]) is None


def test_the_authors_layout_and_the_caches_are_known(tmp_path):
    deep = put(tmp_path / "data" / "cifar-10H" / "votes.pkl")
    assert locate(tmp_path, ["votes.pkl"], dataset="toy") == deep
    cached = put(tmp_path / "cache" / "toy" / "votes.pkl")
    assert locate(tmp_path / "cache", ["votes.pkl"], dataset="toy") == cached
    near = put(tmp_path / "data" / "cifar-10" / "probs.pkl")
    assert beside(deep, ["probs.pkl"]) == near
    assert beside(deep, ["none"]) is None


@pytest.mark.parametrize("where", ["", "none"])
def test_what_is_not_there_is_named_with_the_ways_out(tmp_path, where):
    with pytest.raises(InvalidInput) as caught:
        locate(tmp_path / where, ["votes.pkl"], dataset="toy")
    assert (caught.value.field, caught.value.value) == ("path", str(tmp_path / where))
    assert all(way in caught.value.fix for way in ("quorate reproduce fetch toy", "QUORATE_DATA"))


def test_without_the_extra_the_line_that_installs_it_is_said(monkeypatch):
    monkeypatch.delenv("QUORATE_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtra, match=r"needs pooch.*pip install 'quorate\[data\]'.*QUORATE_DATA"):
        data_folder(None)
