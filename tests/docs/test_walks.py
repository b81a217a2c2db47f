"""The two walks of ARCHITECTURE.md: short enough to follow, and equal to the modules that are called."""

import re
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

import quorate.commands.run  # noqa: F401 - imported before the calls are followed
from quorate.commands.main import app
from tests.quorate_service.api.conftest import World

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
WALKS = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## Two walks")[1]
RUN, VOTE = re.findall(r"^```\n(.*?)^```", WALKS, re.MULTILINE | re.DOTALL)[:2]


def drawn(walk: str) -> list[str]:
    """The modules of a walk, as files below `src/`; those of the library stand without `quorate/`."""
    bare = re.sub(r"\([^)]*\)", "", walk)
    names = re.findall(r"[a-z_]+(?:/\w+)+|\bfiles\b", bare)
    return [f"{name}.py" if name.startswith("quorate_service/") else f"quorate/{name}.py" for name in names]


@contextmanager
def entered():
    """The files of the package whose functions are called in the block."""
    found: set[str] = set()

    def profile(frame, event, _):
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if event == "call" and file.startswith(str(SOURCE)) and name != "<module>" and not name[0].isupper():
            found.add(Path(file).relative_to(SOURCE).as_posix())

    sys.setprofile(profile)
    threading.setprofile(profile)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@pytest.mark.parametrize(("walk", "most"), [(RUN, 30), (VOTE, 20)])
def test_a_walk_is_short_and_names_modules_that_exist(walk, most):
    modules = drawn(walk)
    assert len(set(modules)) == len(modules) <= most
    assert [name for name in modules if not (SOURCE / name).is_file()] == []


def test_a_run_passes_every_module_of_its_walk(tmp_path):
    votes = [f"i{item},w{who},{'dog' if (item + who) % 3 == 0 else 'cat'}" for item in range(12) for who in range(3)]
    (tmp_path / "votes.csv").write_text("\n".join(["task,worker,label", *votes]))
    (tmp_path / "probs.csv").write_text("\n".join(["id,cat,dog", *(f"i{item},0.7,0.3" for item in range(12))]))
    files = ["--votes", tmp_path / "votes.csv", "--predictions", tmp_path / "probs.csv", "--out", tmp_path / "out"]
    with entered() as found:
        done = CliRunner().invoke(app, ["run", *map(str, files), "--method", "quorum:votes=2"])
    assert done.exit_code == 0, done.output
    assert [name for name in drawn(RUN) if name not in found] == []
    flow = tuple(f"quorate/{folder}/" for folder in ("commands", "tables", "streams", "reports"))
    assert len([name for name in found if name.startswith(flow) and name.endswith(".py")]) <= 60


def test_a_posted_vote_passes_every_module_of_its_walk(tmp_path):
    world = World(f"sqlite:///{tmp_path / 'walk.db'}")
    world.items("x", "y")
    voter, path = world.client("voter"), f"/projects/{world.here}"
    (asked,) = voter.api("POST", f"{path}/next", 200).json()["items"]
    with entered() as found:
        voter.api("POST", f"{path}/votes", 200, json={"item": asked["item"], "label": "cat", "next": 1})
    world.store.close()
    assert [name for name in drawn(VOTE) if name not in found] == []
    assert len([name for name in found if name.startswith(("quorate_service/", "quorate/session/"))]) <= 40
