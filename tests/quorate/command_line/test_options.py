"""Arrays on the command line: an .npz names their rows, in each command."""

import gzip
import json

import numpy as np
import pytest

from quorate.commands.main import load
from quorate.datasets import synthetic
from quorate.tables.options import OPTIONS

FIGURES = {"run": "learned", "plan": "curve"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Votes on items called 1 to 60, the same predictions as an array and as a table, and the ids of its rows."""
    place = tmp_path_factory.mktemp("arrays")
    data = synthetic(num_items=60, pool_size=5, num_classes=2, seed=3)
    names = ("cat", "dog")
    lines = [f"{t + 1},w{w},{names[k]}" for t, row in enumerate(data.votes) for w, k in enumerate(row)]
    (place / "votes.csv").write_text("\n".join(["task,worker,label", *lines]) + "\n")
    probs = np.asarray(data.predictions[0])
    np.save(place / "probs.npy", probs)
    np.savez(place / "probs.npz", probs=probs, ids=np.arange(1, 61), classes=names)
    rows = [f"{t + 1},{row[0]!r},{row[1]!r}" for t, row in enumerate(probs.tolist())]
    (place / "probs.csv").write_text("\n".join(["id,cat,dog", *rows]) + "\n")
    return place


def typed(command, folder, out, predictions, *more):
    tables = ("--votes", folder / "votes.csv", "--predictions", folder / predictions, "--classes", "cat,dog")
    return (command, *tables, "--out", out, *more)


@pytest.mark.parametrize("command", FIGURES)
def test_rows_without_ids_are_refused_in_one_line_that_says_what_to_do(run, folder, tmp_path, command):
    done = run(*typed(command, folder, tmp_path / "out", "probs.npy"))
    assert done.exit_code == 1 and ".npz" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", FIGURES)
def test_an_array_with_ids_gives_what_the_table_gives(run, folder, tmp_path, command):
    def figures(name):
        done = run(*typed(command, folder, tmp_path / name, name, "--json"))
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)[FIGURES[command]]

    assert figures("probs.npz") == figures("probs.csv")


def test_max_size_limits_what_a_packed_table_unpacks_to(run, tmp_path, monkeypatch):
    monkeypatch.setenv("QUORATE_MAX_SIZE", "100KB")
    file = tmp_path / "votes.csv.gz"
    file.write_bytes(gzip.compress(b"item,worker,label\n" + b"a,b,cat\n" * 100_000))
    refused = run("run", "--votes", str(file), "--out", str(tmp_path / "out"))
    assert refused.exit_code == 1
    assert "QUORATE_MAX_SIZE" in refused.stderr


@pytest.mark.parametrize(
    ("command", "without"),
    [
        ("run", set()),
        ("plan", set()),
        ("score", {"classes", "timestamp", "strict"}),
        (
            "audit report",
            {"id_column", "classes", "probs_column", "prediction_column", "encoding", "timestamp", "ignore_columns"}
            | {"strict"},
        ),
    ],
)
def test_every_command_that_reads_tables_has_the_declared_options(command, without):
    first, _, second = command.partition(" ")
    found = load(first).commands[second] if second else load(first)
    options = {option.name: option for option in found.params}
    for name, declared in OPTIONS.items():
        if name in without:
            assert name not in options
        else:
            assert options[name].opts == [declared.spelling]
            assert options[name].default == declared.default
            assert options[name].help == declared.help
