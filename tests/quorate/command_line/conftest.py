"""The command line as the tests run it, one demo, and votes of people known by name."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from quorate.commands.main import app

Run = Callable[..., Result]


@pytest.fixture(scope="session")
def run() -> Run:
    """`run("decide", "--pool-size", 3)`: the command's result, with stdout and stderr apart."""
    runner = CliRunner()
    return lambda *args: runner.invoke(app, [str(arg) for arg in args], env={"COLUMNS": "160", "NO_COLOR": "1"})


@pytest.fixture(scope="session")
def a_demo(run: Run, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """`quorate demo`, once."""
    out = tmp_path_factory.mktemp("demo") / "out"
    return run("demo", "--out", out), out


SKILLS = {"ann": 0.95, "bob": 0.9, "eve": 0.5}
COSTS = {"ann": 5.0, "bob": 1.0, "eve": 0.5}


@pytest.fixture(scope="session")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with votes.csv of three people on 120 items, truth.csv and costs.csv (bob is not in it: he costs 1)."""
    folder, rng = tmp_path_factory.mktemp("named"), np.random.default_rng(1)
    truth = rng.integers(0, 2, 120)
    right = rng.random((120, 3)) < list(SKILLS.values())
    said = np.where(right, truth[:, None], 1 - truth[:, None])
    votes = [f"i{t},{name},{'ny'[said[t, e]]}" for t in range(120) for e, name in enumerate(SKILLS)]
    (folder / "votes.csv").write_text("\n".join(["task,worker,label", *votes]))
    (folder / "truth.csv").write_text("\n".join(["task,truth", *(f"i{t},{'ny'[k]}" for t, k in enumerate(truth))]))
    (folder / "costs.csv").write_text("worker,cost\nann,5\neve,0.5\n")
    return folder
