"""Downloads against a real server: whole, cut off, resumed, tampered with, missing, gone."""

import hashlib
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from quorate.cli.main import app
from quorate.datasets import catalogue, imagenet16h_shift
from quorate.datasets.catalogue import PublishedFile, Source, digests
from quorate.datasets.fetch import describe, fetch
from quorate.errors import DownloadError, InvalidInput

pytest.importorskip("pooch")

VOTES = np.random.default_rng(1).bytes(300_000)
PROBS = np.random.default_rng(2).bytes(200_000)


def blob(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@pytest.fixture
def entry(monkeypatch, site):
    """A data set of two files: one proven by sha256 and size, one by its git blob id only."""
    site.files = {"votes.pkl": VOTES, "probs.pkl": PROBS}
    made = Source(
        name="toy",
        title="A toy",
        licence="CC0",
        citation="Nobody, 2024",
        files=(
            PublishedFile(
                "votes.pkl", "votes", f"{site.url}/x/votes.pkl", hashlib.sha256(VOTES).hexdigest(), size=len(VOTES)
            ),
            PublishedFile("probs.pkl", "predictions", f"{site.url}/x/probs.pkl", git_blob=blob(PROBS)),
            PublishedFile("more.pkl", "not needed", f"{site.url}/x/more.pkl", needed=False),
        ),
    )
    monkeypatch.setitem(catalogue.CATALOGUE, "toy", made)
    return made


def held(folder):
    return {path.name: path.read_bytes() for path in (folder / "toy").iterdir()}


def test_files_are_fetched_verified_and_reported(entry, site, tmp_path):
    seen = []
    files = fetch("toy", cache=tmp_path, report=lambda done, total, what: seen.append((done, total, what)))
    assert held(tmp_path) == {"votes.pkl": VOTES, "probs.pkl": PROBS}
    assert [(file.name, file.how) for file in files] == [("votes.pkl", "downloaded"), ("probs.pkl", "downloaded")]
    assert (300_000, 300_000, "votes.pkl") in seen
    assert seen[-1] == (200_000, 200_000, "probs.pkl")
    assert fetch("toy", cache=tmp_path)[0].how == "present"
    assert len(site.asked) == 2  # the second time nothing was asked for


def test_a_transfer_that_is_cut_goes_on_where_it_stopped(entry, site, tmp_path):
    site.cuts = {"votes.pkl": [102_400, 53_248]}
    fetch("toy", cache=tmp_path)
    assert held(tmp_path)["votes.pkl"] == VOTES
    starts = [wanted for name, wanted in site.asked if name == "votes.pkl"]
    assert starts == [None, "bytes=102400-", "bytes=155648-"]


def test_a_broken_transfer_is_resumed_by_the_next_command(entry, site, tmp_path):
    site.cuts = {"votes.pkl": [102_400, 0]}
    with pytest.raises(DownloadError, match="broke off after 102400 of 300000 bytes; run the same command again"):
        fetch("toy", cache=tmp_path)
    assert held(tmp_path) == {"votes.pkl.part": VOTES[:102_400]}
    site.asked.clear()
    fetch("toy", cache=tmp_path)
    assert site.asked[0] == ("votes.pkl", "bytes=102400-")
    assert held(tmp_path) == {"votes.pkl": VOTES, "probs.pkl": PROBS}


def test_a_server_without_ranges_sends_it_all_again(entry, site, tmp_path):
    site.cuts = {"votes.pkl": [100_000]}
    site.ranges = False
    fetch("toy", cache=tmp_path)
    assert held(tmp_path)["votes.pkl"] == VOTES


def test_a_short_file_without_announced_length_is_noticed(entry, site, tmp_path):
    site.announce = False
    site.cuts = {"votes.pkl": [100_000], "probs.pkl": [7]}
    with pytest.raises(DownloadError, match=r"not the published probs\.pkl.*\(7 bytes\)"):
        fetch("toy", cache=tmp_path)
    assert held(tmp_path) == {"votes.pkl": VOTES}  # known size: resumed


@pytest.mark.parametrize("name", ["votes.pkl", "probs.pkl"])
def test_a_tampered_file_is_refused_and_removed(entry, site, tmp_path, name):
    bad = bytearray(site.files[name])
    bad[1234] ^= 1
    site.files[name] = bytes(bad)
    with pytest.raises(DownloadError, match=rf"not the published {name}: expected (sha256|git blob).*removed"):
        fetch("toy", cache=tmp_path)
    assert name not in held(tmp_path)
    assert f"{name}.part" not in held(tmp_path)


def test_a_larger_file_is_refused_before_it_is_loaded(entry, site, tmp_path):
    site.files["votes.pkl"] = VOTES * 3
    with pytest.raises(DownloadError, match=r"offers 900000 bytes; the published votes\.pkl has 300000"):
        fetch("toy", cache=tmp_path)
    site.announce = False
    with pytest.raises(DownloadError, match="sends more than 300000 bytes"):
        fetch("toy", cache=tmp_path)
    assert held(tmp_path) == {}


@pytest.mark.parametrize("left", [b"other bytes", VOTES + b"and more", VOTES])
def test_a_left_over_part_of_whatever_kind_does_no_harm(entry, site, tmp_path, left):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "votes.pkl.part").write_bytes(left)
    fetch("toy", cache=tmp_path)
    assert held(tmp_path) == {"votes.pkl": VOTES, "probs.pkl": PROBS}


def test_a_file_damaged_since_is_fetched_anew(entry, tmp_path):
    fetch("toy", cache=tmp_path)
    (tmp_path / "toy" / "probs.pkl").write_bytes(b"damaged")
    assert [file.how for file in fetch("toy", cache=tmp_path)] == ["present", "downloaded"]
    assert held(tmp_path)["probs.pkl"] == PROBS


def test_what_is_there_keeps_its_place_until_a_proven_file_takes_it(entry, site, tmp_path):
    fetch("toy", cache=tmp_path)
    (tmp_path / "toy" / "probs.pkl").write_bytes(b"my own version")
    site.files["probs.pkl"] = PROBS[::-1]
    with pytest.raises(DownloadError, match="not the published"):
        fetch("toy", cache=tmp_path)
    del site.files["probs.pkl"]
    with pytest.raises(DownloadError, match="404"):
        fetch("toy", cache=tmp_path)
    assert held(tmp_path) == {"votes.pkl": VOTES, "probs.pkl": b"my own version"}


def test_a_source_that_is_the_cache_itself_is_never_deleted(entry, tmp_path):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "votes.pkl").write_bytes(b"the only copy")
    with pytest.raises(DownloadError, match=r"not the published votes\.pkl"):
        fetch("toy", cache=tmp_path, folder=tmp_path / "toy")
    assert held(tmp_path) == {"votes.pkl": b"the only copy"}


def test_a_second_fetch_in_the_midst_of_the_first_harms_neither(entry, site, tmp_path):
    """The server holds the first transfer half-way until another fetch, from start to end, is through."""
    others = []

    def meanwhile(name):
        site.halfway = lambda name: None
        try:
            others.extend(file.how for file in fetch("toy", cache=tmp_path))
        except Exception as problem:  # told to the test, which fails with it
            others.append(problem)

    site.halfway = meanwhile
    first = [file.how for file in fetch("toy", cache=tmp_path)]
    assert others == ["downloaded", "downloaded"]
    assert first == ["downloaded", "present"]
    assert held(tmp_path) == {"votes.pkl": VOTES, "probs.pkl": PROBS}


def test_many_fetches_at_once_all_end_with_the_published_files(entry, tmp_path):
    with ThreadPoolExecutor(6) as pool:
        ends = [pool.submit(fetch, "toy", cache=tmp_path) for _ in range(6)]
    assert {file.num_bytes for end in ends for file in end.result()} == {len(VOTES), len(PROBS)}
    assert held(tmp_path) == {"votes.pkl": VOTES, "probs.pkl": PROBS}


def test_a_missing_file_says_404_and_the_steps_by_hand(entry, site, tmp_path):
    del site.files["probs.pkl"]
    words = r"answers 404.*By hand: download http.*probs\.pkl.*quorate data fetch toy --from FOLDER"
    with pytest.raises(DownloadError, match=words):
        fetch("toy", cache=tmp_path)


def test_without_a_network_the_steps_by_hand_are_said(entry, monkeypatch, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gone = replace(entry, files=(replace(entry.files[0], url=f"http://127.0.0.1:{port}/votes.pkl"),))
    monkeypatch.setitem(catalogue.CATALOGUE, "toy", gone)
    with pytest.raises(DownloadError, match=rf"cannot reach 127\.0\.0\.1:{port}.*By hand.*--from FOLDER"):
        fetch("toy", cache=tmp_path)
    assert held(tmp_path) == {}


def test_a_mirror_or_a_local_folder_can_be_named(entry, site, monkeypatch, tmp_path):
    files = tuple(replace(file, url="http://nowhere.invalid/" + file.name) for file in entry.files)
    monkeypatch.setitem(catalogue.CATALOGUE, "toy", replace(entry, files=files))
    fetch("toy", cache=tmp_path / "a", mirror=site.url + "/mirror/")
    local = tmp_path / "local" / "raw"
    local.mkdir(parents=True)
    (local / "votes.pkl").write_bytes(VOTES)
    with pytest.raises(DownloadError, match=r"has no probs\.pkl"):
        fetch("toy", cache=tmp_path / "b", folder=tmp_path / "local")
    (local / "probs.pkl").write_bytes(PROBS[:-1])
    with pytest.raises(DownloadError, match=r"not the published probs\.pkl"):
        fetch("toy", cache=tmp_path / "b", folder=tmp_path / "local")
    assert (local / "probs.pkl").exists()  # the user's own file is left alone
    (local / "probs.pkl").write_bytes(PROBS)
    assert fetch("toy", cache=tmp_path / "b", folder=tmp_path / "local")[1].how == "copied"
    assert held(tmp_path / "a") == held(tmp_path / "b") == {"votes.pkl": VOTES, "probs.pkl": PROBS}


def test_what_no_program_can_fetch_has_steps(tmp_path):
    with pytest.raises(DownloadError, match=r"cannot be downloaded.*chaosNLI_v1\.0\.zip"):
        fetch("chaosnli", cache=tmp_path)
    with pytest.raises(InvalidInput, match=r"^name=.*cifar10h"):
        fetch("mnist", cache=tmp_path)


@pytest.mark.parametrize("name", catalogue.CATALOGUE)
def test_every_set_says_its_terms_and_every_file_to_fetch_has_a_proof(name):
    entry = catalogue.source(name)
    assert f"Licence: {entry.licence}" in describe(name)
    assert f"Cite: {entry.citation}" in describe(name)
    assert entry.to_fetch or entry.manual
    for file in entry.files:
        assert file.sha256 or file.git_blob
        assert file.url is None or file.url.startswith("https://raw.githubusercontent.com/")


def test_the_catalogue_knows_the_real_files(data_dir, tmp_path):
    known = {file.name: file for entry in catalogue.CATALOGUE.values() for file in entry.files}
    here = [path for folder in (data_dir, data_dir / "raw") for path in folder.iterdir() if path.name in known]
    assert len(here) == 9
    for path in here:
        assert catalogue.matches(digests(path), known[path.name]), path.name
    assert fetch("imagenet16h_shift", cache=tmp_path, folder=data_dir)[0].how == "copied"
    assert imagenet16h_shift.load(tmp_path).num_items == 2400


def test_the_command_fetches_from_a_mirror_and_refuses_what_was_tampered_with(entry, site, tmp_path):
    def run(*more):
        args = ["data", "fetch", "toy", "--yes", "--cache", str(tmp_path), "--mirror", site.url, *more]
        return CliRunner().invoke(app, args, env={"COLUMNS": "200", "NO_COLOR": "1"})

    site.cuts = {"votes.pkl": [102_400]}
    good = run("--json")
    assert good.exit_code == 0, good.output
    assert [file["how"] for file in json.loads(good.stdout)["files"]] == ["downloaded", "downloaded"]
    assert held(tmp_path) == {"votes.pkl": VOTES, "probs.pkl": PROBS}
    (tmp_path / "toy" / "probs.pkl").unlink()
    site.files["probs.pkl"] = PROBS[::-1]
    bad = run()
    assert bad.exit_code == 1
    assert "not the published probs.pkl" in bad.stderr
    assert len(bad.stderr.strip().splitlines()) == 1
    assert held(tmp_path) == {"votes.pkl": VOTES}


def test_the_licence_is_printed_before_anything_is_asked_of_the_server(entry, site, tmp_path, capfd):
    printed = []
    site.before = lambda name: printed.append(capfd.readouterr().out)  # what had been printed when the request came
    args = ["data", "fetch", "toy", "--yes", "--cache", str(tmp_path), "--mirror", site.url]
    app(args, standalone_mode=False)
    assert len(printed) == 2
    assert "Licence: CC0" in printed[0]
    assert "Cite: Nobody, 2024" in printed[0]
    assert "downloaded" not in printed[0]


def test_without_agreement_the_server_is_never_asked(entry, site, tmp_path):
    args = ["data", "fetch", "toy", "--cache", str(tmp_path), "--mirror", site.url]
    refused = CliRunner().invoke(app, args, env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert refused.exit_code == 1
    assert "Licence: CC0" in refused.stdout
    assert site.asked == []
    assert list(tmp_path.iterdir()) == []
