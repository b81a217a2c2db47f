"""Data sets by name, loaded one at a time, and words for what is missing."""

import numpy as np
import pytest

from quorate_paper.datasets import checksum
from quorate_paper.sources import USES, Sources
from tests.quorate_paper.toy_data import write_toy_data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_toy_data(tmp_path_factory.mktemp("data"))


def test_every_name_of_the_folder_is_listed(folder):
    assert list(Sources(folder)) == [
        "cifar10h", "imagenet16h/wide", "imagenet16h/narrow", "imagenet16h/all", "imagenet16h_shift", "chaosnli",
    ]  # fmt: skip
    assert len(Sources(folder)) == 6


def test_asking_for_one_data_set_loads_no_other(folder):
    sources = Sources(folder)
    assert "imagenet16h_shift" in sources
    assert sources["imagenet16h_shift"].num_items == 40
    assert list(sources._loaded) == ["imagenet16h_shift"]


def test_a_classifier_comes_with_the_items_it_covers(folder):
    sources = Sources(folder)
    assert sources["imagenet16h/narrow"].num_items == 10
    assert sources["imagenet16h/wide"].num_items == 40
    assert sources["imagenet16h/all"].models == ("wide", "narrow")
    assert sources["imagenet16h/all"].num_items == 10


@pytest.mark.parametrize("name", ["imagenet16h", "imagenet16h/unknown", "cifar10h/weak", "mnist", ""])
def test_other_names_are_not_there(folder, name):
    assert name not in Sources(folder)
    with pytest.raises(KeyError):
        Sources(folder)[name]


def test_checksums_are_of_the_content_and_of_what_was_used(folder):
    sources = Sources(folder)
    assert sources.checksums() == {}
    assert sources.checksum("chaosnli") == checksum(sources["chaosnli"])
    assert list(sources.checksums()) == ["chaosnli"]


def test_a_missing_file_is_said_with_what_it_costs(folder, tmp_path):
    for name in ("cifar10h.npz", "imagenet16h_shift.npz"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    sources = Sources(tmp_path)
    said = sources.left_out(["curves", "shift"])
    assert said == (
        f"curves for ImageNet-16H are left out: no imagenet16h.npz in {tmp_path}",
        f"curves for ChaosNLI are left out: no chaosnli_snli.npz in {tmp_path}",
    )
    assert list(sources) == ["cifar10h", "imagenet16h_shift"]
    assert sources.any_of(["shift"])
    assert not Sources(tmp_path / "empty").any_of(USES)


def test_a_file_that_cannot_be_read_says_why(tmp_path):
    np.savez(tmp_path / "cifar10h.npz", nothing=np.zeros(3))
    (said,) = Sources(tmp_path).left_out(["two-phase"])
    assert "cifar10h.npz" in said
    assert "expected 'probs'" in said
