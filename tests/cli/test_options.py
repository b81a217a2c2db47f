"""Arrays on the command line: `--ids` names their rows and `--classes` their columns, in each command."""

import gzip
import json
import os

import numpy as np
import pytest

from quorate.cli.main import load
from quorate.cli.options import id_list
from quorate.datasets import synthetic
from quorate.errors import InvalidInput
from quorate.tables.options import OPTIONS

FIGURES = {"run": "learned", "plan": "advice", "calibrate": "every"}
FEW = {"plan": ("--method", "value", "--orderings", "2", "--draws", "100")}


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
    rows = [f"{t + 1},{row[0]!r},{row[1]!r}" for t, row in enumerate(probs.tolist())]
    (place / "probs.csv").write_text("\n".join(["id,cat,dog", *rows]) + "\n")
    (place / "ids.txt").write_text("".join(f"{t + 1}\n" for t in range(60)))
    return place


def typed(command, folder, out, predictions, *more):
    tables = ("--votes", folder / "votes.csv", "--predictions", folder / predictions, "--classes", "cat,dog")
    return (command, *tables, "--out", out, *FEW.get(command, ()), *more)


@pytest.mark.parametrize("command", FIGURES)
def test_rows_without_ids_are_refused_in_one_line_that_says_what_to_do(run, folder, tmp_path, command):
    done = run(*typed(command, folder, tmp_path / "out", "probs.npy"))
    assert done.exit_code == 1 and " 0 to 59" in done.stderr and "--ids ..." in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", FIGURES)
def test_an_array_with_ids_gives_what_the_table_gives(run, folder, tmp_path, command):
    def figures(name, *more):
        done = run(*typed(command, folder, tmp_path / name, name, *more, "--json"))
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)[FIGURES[command]]

    assert figures("probs.npy", "--ids", folder / "ids.txt") == figures("probs.csv")


def test_columns_without_names_are_refused(run, folder, tmp_path):
    done = run(
        "run",
        "-v",
        folder / "votes.csv",
        "-p",
        folder / "probs.npy",
        "--ids",
        folder / "ids.txt",
        "-o",
        tmp_path / "out",
    )
    assert done.exit_code == 1 and "['0', '1']" in done.stderr and "--classes" in done.stderr


def test_the_ids_are_the_lines_of_the_file(tmp_path):
    (tmp_path / "ids.txt").write_bytes("\ufeffa b\r\n007\n".encode())
    assert id_list(str(tmp_path / "ids.txt"), ["probs.NPY"]) == ["a b", "007"]


def test_a_file_of_ids_that_cannot_be_used_is_named(tmp_path):
    gone = str(tmp_path / "gone.txt")
    for file, predictions in ((gone, ["probs.npy"]), ("ids.txt", ["probs.csv"])):
        with pytest.raises(InvalidInput) as caught:
            id_list(file, predictions)
        assert (caught.value.field, caught.value.value) == ("ids", file)


def test_max_size_limits_what_a_packed_table_unpacks_to(run, tmp_path, monkeypatch):
    monkeypatch.delenv("QUORATE_MAX_SIZE", raising=False)
    file = tmp_path / "votes.csv.gz"
    file.write_bytes(gzip.compress(b"item,worker,label\n" + b"a,b,cat\n" * 100_000))
    refused = run("run", "--votes", str(file), "--max-size", "100KB", "--out", str(tmp_path / "out"))
    assert refused.exit_code == 1
    assert "--max-size" in refused.stderr
    assert "QUORATE_MAX_SIZE" not in os.environ


@pytest.mark.parametrize(
    ("command", "without"),
    [
        ("run", set()),
        ("plan", set()),
        ("calibrate", set()),
        ("score", {"classes", "items"}),
        (
            "audit report",
            {"id_column", "ids", "classes", "items", "accuracy", "probs_column", "prediction_column", "encoding"},
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
        elif (command, name) != ("score", "accuracy"):  # as in the parameters unless given
            assert options[name].opts == [declared.spelling]
            assert options[name].default == declared.default
            assert options[name].help == declared.help
