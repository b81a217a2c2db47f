"""The command line as the tests run it, and one quick demo shared by those that look at its output."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from quorate.cli.main import app

Run = Callable[..., Result]


@pytest.fixture(scope="session")
def run() -> Run:
    """`run("decide", "--pool-size", 3)`: the command's result, with stdout and stderr apart."""
    runner = CliRunner()
    return lambda *args: runner.invoke(app, [str(arg) for arg in args], env={"COLUMNS": "160", "NO_COLOR": "1"})


@pytest.fixture(scope="session")
def quick_demo(run: Run, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """`quorate demo --quick`, once."""
    out = tmp_path_factory.mktemp("demo") / "out"
    return run("demo", "--quick", "--out", out), out
