"""Each command prints one screen: at most 24 lines of at most 100 columns, through a pipe, too."""

import pytest

from quorate.datasets import synthetic

CLASSES = ["normal", "benign", "malignant"]


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    """Votes, predictions, truth and costs of 240 items, with a run and an audit sample of them."""
    made, data = tmp_path_factory.mktemp("screens"), synthetic(num_items=240, num_classes=3, pool_size=5, seed=1)
    votes = [f"x{t},w{e},{CLASSES[k]}" for t, labels in enumerate(data.votes) for e, k in enumerate(labels)]
    (made / "votes.csv").write_text("\n".join(["item,worker,label", *votes, ",w1,normal"]))
    probs = [",".join([f"x{t}", *map(str, row)]) for t, row in enumerate(data.predictions[0])]
    (made / "probs.csv").write_text("\n".join([f"item,{','.join(CLASSES)}", *probs]))
    (made / "truth.csv").write_text("\n".join(["item,truth", *(f"x{t},{CLASSES[t % 3]}" for t in range(60))]))
    (made / "costs.csv").write_text(f"truth,{','.join(CLASSES)}\nmalignant,500,500,0\n")
    tables = ("--votes", made / "votes.csv", "--predictions", made / "probs.csv")
    assert run("run", *tables, "--out", made / "run").exit_code == 0
    drawn = ("--decisions", made / "run" / "decisions.csv", "--rate", 0.5, "--seed", 1, "--out", made / "audit.csv")
    assert run("audit", "draw", *drawn).exit_code == 0
    return made


VOTES = ("--votes", "{0}/votes.csv")
BOTH = (*VOTES, "--predictions", "{0}/probs.csv")
AGAIN = ("run", *BOTH, "--out", "{0}/again", "--overwrite")


@pytest.mark.parametrize(
    "typed",
    [
        (*AGAIN, "--price", "0.08"),
        (*AGAIN, "--budget", "2"),
        (*AGAIN, "--threshold", "0.95"),
        (*AGAIN, "--error-cost", "{0}/costs.csv"),
        (*AGAIN, "--target", "truth", "--truth", "{0}/truth.csv"),
        ("run", *VOTES, "--out", "{0}/again", "--overwrite"),
        ("plan", *BOTH, "--target-error", "0.05", "--price", "0.08"),
        ("plan", *VOTES, "--budget", "3"),
        ("plan", *BOTH, "--recall", "malignant=0.9"),
        ("experts", *BOTH, "--truth", "{0}/truth.csv"),
        ("score", "--params", "{0}/run/params.json", *BOTH, "--out", "{0}/scores.csv"),
        ("audit", "draw", "-d", "{0}/run/decisions.csv", "-q", "0.01", "--seed", "1", "-o", "{0}/few.csv"),
        ("audit", "report", "--audit", "{0}/audit.csv", *VOTES),
        ("decide", "--votes", "2,1", "--pool-size", "5"),
        ("methods",),
        ("reproduce", "list"),
    ],
    ids=" ".join,
)
def test_a_screen_has_24_lines_of_100_columns(run, folder, typed):
    result = run(*(word.format(folder) for word in typed))
    assert result.exit_code == 0, result.output
    lines = [line.rstrip().replace(str(folder), "folder") for line in result.stdout.splitlines()]
    assert 0 < len(lines) <= 24 and max(map(len, lines)) <= 100, result.stdout
