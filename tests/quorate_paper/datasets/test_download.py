"""Downloads against a real server: whole, cut off, tampered with, missing, gone."""

import hashlib

import numpy as np
import pytest
from typer.testing import CliRunner

from quorate.commands.main import app
from quorate.errors import DownloadError, InvalidInput
from quorate_paper.datasets import catalogue
from quorate_paper.datasets.catalogue import PublishedFile, Source
from quorate_paper.datasets.download import describe, fetch

pytest.importorskip("pooch")

VOTES = np.random.default_rng(1).bytes(300_000)
PROBS = np.random.default_rng(2).bytes(200_000)


def blob(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@pytest.fixture
def entry(monkeypatch, site):
    """A data set of two files: one proven by sha256, one by its git blob id."""
    site.files = {"votes.pkl": VOTES, "probs.pkl": PROBS}
    files = (
        PublishedFile(f"{site.url}/x/votes.pkl", sha256=hashlib.sha256(VOTES).hexdigest()),
        PublishedFile(f"{site.url}/x/probs.pkl", git_blob=blob(PROBS)),
    )
    made = Source("toy", "A toy", "CC0", "Nobody, 2024", files)
    monkeypatch.setitem(catalogue.CATALOGUE, "toy", made)
    return made


def held(folder):
    return {path.name: path.read_bytes() for path in (folder / "toy").iterdir()}


def test_files_are_fetched_and_verified_once(entry, site, tmp_path):
    files = fetch("toy", folder=tmp_path)
    assert held(tmp_path) == {"votes.pkl": VOTES, "probs.pkl": PROBS}
    assert files == tuple(tmp_path / "toy" / name for name in ("votes.pkl", "probs.pkl"))
    assert fetch("toy", folder=tmp_path) == files
    assert site.asked == ["votes.pkl", "probs.pkl"]  # the second time nothing was asked for


@pytest.mark.parametrize("name", ["votes.pkl", "probs.pkl"])
def test_a_tampered_file_is_refused_and_not_kept(entry, site, tmp_path, name):
    site.files[name] = site.files[name][::-1]
    with pytest.raises(DownloadError, match=name):
        fetch("toy", folder=tmp_path)
    assert name not in held(tmp_path)


def test_a_transfer_that_breaks_off_leaves_nothing_and_the_next_one_is_whole(entry, site, tmp_path):
    site.short = 1000
    with pytest.raises(DownloadError, match=r"votes\.pkl could not be fetched"):
        fetch("toy", folder=tmp_path)
    assert held(tmp_path) == {}
    site.short = 0
    fetch("toy", folder=tmp_path)
    assert held(tmp_path) == {"votes.pkl": VOTES, "probs.pkl": PROBS}


def test_a_file_damaged_since_is_replaced(entry, tmp_path):
    fetch("toy", folder=tmp_path)
    (tmp_path / "toy" / "votes.pkl").write_bytes(b"damaged")
    fetch("toy", folder=tmp_path)
    assert held(tmp_path)["votes.pkl"] == VOTES


def test_a_missing_file_says_how_to_get_it_by_hand(entry, site, tmp_path):
    del site.files["probs.pkl"]
    with pytest.raises(DownloadError, match=r"404.*by hand"):
        fetch("toy", folder=tmp_path)


def test_what_no_program_can_fetch_has_steps(tmp_path):
    with pytest.raises(DownloadError, match=r"cannot be downloaded.*chaosNLI_v1\.0\.zip"):
        fetch("chaosnli", folder=tmp_path)
    with pytest.raises(InvalidInput, match=r"^name=.*cifar10h"):
        fetch("mnist", folder=tmp_path)


@pytest.mark.parametrize("name", catalogue.CATALOGUE)
def test_every_set_says_its_terms_and_every_file_to_fetch_has_a_proof(name):
    entry = catalogue.source(name)
    assert f"Licence: {entry.licence}" in describe(name)
    assert f"Cite: {entry.citation}" in describe(name)
    assert entry.files or entry.manual
    for file in entry.files:
        assert file.sha256 or file.git_blob
        assert file.url.startswith("https://raw.githubusercontent.com/")


def test_the_catalogue_knows_the_real_files(data_dir):
    files = [file for entry in catalogue.CATALOGUE.values() for file in entry.files if file.sha256]
    assert len(files) == 2
    for file in files:
        assert hashlib.sha256((data_dir / "raw" / file.name).read_bytes()).hexdigest() == file.sha256


def test_the_command_asks_for_the_licence_first(entry, site, tmp_path, monkeypatch):
    monkeypatch.setenv("QUORATE_DATA", str(tmp_path))

    def run(*more):
        args = ["reproduce", "fetch", "toy", *more]
        return CliRunner().invoke(app, args, env={"COLUMNS": "200", "NO_COLOR": "1"})

    refused = run()
    assert refused.exit_code == 1
    assert "Licence: CC0" in refused.stdout and "Cite: Nobody, 2024" in refused.stdout
    assert site.asked == []
    assert list(tmp_path.iterdir()) == []
    good = run("--yes")
    assert good.exit_code == 0, good.output
    assert held(tmp_path) == {"votes.pkl": VOTES, "probs.pkl": PROBS}
