import sys

import pytest

from quorate.errors import MissingExtra
from quorate_paper.datasets.download import fetch
from quorate_paper.datasets.places import data_folder, find, locate
from tests.refusals import refused


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


@pytest.mark.parametrize("where", ["", "none"])
def test_what_is_not_there_is_named_with_the_ways_out(tmp_path, where):
    with refused("path", value=str(tmp_path / where)) as caught:
        locate(tmp_path / where, ["votes.pkl"], dataset="toy")
    assert all(way in caught.value.fix for way in ("quorate reproduce fetch toy", "QUORATE_DATA"))


def test_without_the_extra_the_folder_is_known_and_a_download_says_what_installs_it(monkeypatch):
    monkeypatch.delenv("QUORATE_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert data_folder(None).name == "quorate"
    with pytest.raises(MissingExtra, match=r"needs pooch.*pip install 'quorate\[data\]'.*QUORATE_DATA"):
        fetch("cifar10h")
