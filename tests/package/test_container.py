"""What can be checked of the container without an engine: its files fit each other and say what they should.

`test_container_run.py` (slow) carries the Dockerfile's commands out by hand. `make lint-container` runs hadolint.
"""

import json
import re
import shlex
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text()) if (ROOT / ".github").exists() else None


def stages() -> list[list[tuple[str, str]]]:
    """The instructions of each stage of the Dockerfile: name and rest."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.partition(" ")[::2] for line in text.splitlines() if line.strip()]
    starts = [number for number, (name, _) in enumerate(lines) if name == "FROM"]
    return [lines[start:end] for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]


BUILD, IMAGE = stages()


def only(name: str) -> str:
    """The rest of the one instruction of that name in the image's own stage."""
    (found,) = [rest for each, rest in IMAGE if each == name]
    return found


def settings(stage) -> dict[str, str]:
    return dict(part.split("=", 1) for name, rest in stage if name == "ENV" for part in shlex.split(rest))


def test_what_is_copied_exists_and_is_not_ignored():
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for stage in (BUILD, IMAGE):
        for rest in [rest for name, rest in stage if name == "COPY" and "--from" not in rest]:
            for source in [part for part in rest.split() if not part.startswith("--")][:-1]:
                assert (ROOT / source).exists() and source.split("/")[0] in allowed, source


def test_nothing_runs_as_root_and_only_volumes_and_tmpfs_can_be_written():
    assert only("USER") == COMPOSE["services"]["quorate"]["user"]
    for service in COMPOSE["services"].values():
        assert service["read_only"] is True and service["user"] not in ("", "0", "root")
        assert service["cap_drop"] == ["ALL"] and service["security_opt"] == ["no-new-privileges:true"]
        assert "/tmp" in service["tmpfs"]


def test_the_services_wait_for_each_other_and_keep_their_data():
    quorate, database = COMPOSE["services"]["quorate"], COMPOSE["services"]["database"]
    assert quorate["depends_on"]["database"]["condition"] == "service_healthy" and database["healthcheck"]["test"]
    assert "/readyz" in only("HEALTHCHECK")
    named = {mount.split(":")[0] for service in (quorate, database) for mount in service["volumes"]}
    assert named == set(COMPOSE["volumes"])
    assert f"quorate:{only('VOLUME')}" in quorate["volumes"] and only("WORKDIR") == only("VOLUME")
    user, name = database["environment"]["POSTGRES_USER"], database["environment"]["POSTGRES_DB"]
    assert quorate["environment"]["QUORATE_DATABASE"] == f"postgresql://{user}@database/{name}"
    assert quorate["environment"]["PGPASSWORD"] == database["environment"]["POSTGRES_PASSWORD"]
    assert "127.0.0.1:8000:8000" in quorate["ports"] and only("EXPOSE") == "8000"


def test_the_commands_are_commands_of_quorate():
    section = (ROOT / "docs/cli.md").read_text().partition("## `quorate serve`")[2].partition("\n## ")[0]
    options = set(re.findall(r"--[\w-]+", section))
    for command in (json.loads(only("CMD")), COMPOSE["services"]["quorate"]["command"]):
        assert command[0] == "serve" and {part for part in command if part.startswith("--")} <= options


def test_the_workflow_runs_what_runs_here():
    if WORKFLOW is None:
        return  # a source archive has none
    steps = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
    run = [step["run"] for step in steps if "run" in step]
    assert ".ci/run" in run and (ROOT / ".ci/run").exists()
    targets = [name for line in run if line.startswith("make ") for name in line.split()[1:]]
    makefile = (ROOT / "Makefile").read_text()
    assert targets and all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
    publish = WORKFLOW["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"} and "test" in publish["needs"]
