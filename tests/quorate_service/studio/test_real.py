"""quorate connected to a real Label Studio server, with annotators who work at the same time, and killed servers.

The longer run is `pytest -m slow tests/quorate_service/studio`; both need `make label-studio`.
"""

import csv
import signal
import subprocess
import sys

import httpx
import pytest

from quorate_service.label_studio.client import LabelStudio
from tests.processes import wait_until
from tests.quorate_service.studio.studio import OWNER, PEOPLE, personal_token
from tests.quorate_service.studio.world import CLASSES, Quorate, Service, World, chosen, email_of, furnish

SLOWLY = 480.0  # seconds, on a busy machine


def consensus_of_run(world: World, folder) -> dict[int, str]:
    """What `quorate run` says of the same votes and predictions."""
    votes, predictions, out = folder / "votes.csv", folder / "predictions.csv", folder / "run"
    cast = [(task, person, label) for (task, person), label in world.annotations().items() if label is not None]
    written(votes, ["item", "voter", "label"], cast)
    told = {task["id"]: task["predictions"][0] for task in world.tasks()}
    said = [(task, each["result"][0]["value"]["choices"][0], each["score"]) for task, each in told.items()]
    rows = [(task, *(score if name == label else (1 - score) / 2 for name in CLASSES)) for task, label, score in said]
    written(predictions, ["item", *CLASSES], rows)
    command = [sys.executable, "-m", "quorate", "run", "--votes", str(votes), "--predictions", str(predictions)]
    command += ["--classes", ",".join(CLASSES), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    with (out / "decisions.csv").open() as opened:
        return {int(row["item"]): row["consensus_label"] for row in csv.DictReader(opened)}


def written(file, header, rows) -> None:
    with file.open("w", newline="") as opened:
        csv.writer(opened).writerows([header, *rows])


def check(world: World, folder) -> None:
    """What must hold once everybody is done."""
    rows, tasks = world.rows(), world.tasks()
    assert world.ballots() == world.annotations()  # each counted once, none lost
    late = [each for each in world.served if _is_closed_before(rows[each.task], each.asked)]
    assert late == []
    assert all(task["is_labeled"] for task in tasks)
    for task in tasks:
        row = rows[task["id"]]
        assert task["data"]["quorate_consensus"] == row.label
        assert task["data"]["quorate_confidence"] == pytest.approx(row.confidence, abs=1e-4)
        assert task["data"]["quorate_reason"] == row.reason
    with_votes = {task for task, _ in world.ballots()}
    replayed = consensus_of_run(world, folder)
    ours = {task: rows[task].label for task in with_votes}
    assert {task: replayed[task] for task in with_votes} == ours
    command = [sys.executable, "-m", "quorate", "service", "check", "--database", world.database]
    assert subprocess.run(command, capture_output=True, timeout=120, check=False).returncode == 0


def _is_closed_before(row, asked: float) -> bool:
    """Whether the item was closed for good before somebody asked for a task; an audit asks on."""
    return row.closed is not None and row.audit is None and row.closed < asked


def run_to_the_end(world: World, trouble) -> None:
    """Everybody works while `trouble` happens, until every task is closed and both sides agree."""
    wait_until(world.is_read, "all tasks were read once", SLOWLY)
    threads = world.everybody()
    try:
        trouble()
        wait_until(lambda: world.is_all_closed() and world.is_in_line(), "all tasks are closed", SLOWLY)
    finally:
        world.done.set()
        for thread in threads:
            thread.join(30)


@pytest.mark.timeout(600)
def test_three_people_need_fewer_annotations_and_both_sides_survive_being_killed(studio, tmp_path):
    world = furnish(studio, str(tmp_path / "quorate.db"), 12)
    quorate = Quorate(world.database, studio, world.project)
    quorate.start()

    def trouble():
        wait_until(lambda: len(world.made) >= 4, "some annotations", SLOWLY)
        quorate.end()
        studio.kill()
        studio.start()
        quorate.start()

    try:
        run_to_the_end(world, trouble)
        check(world, tmp_path)
        made = len(world.annotations())
        assert len(world.answers) <= made < 3 * len(world.answers)
        assert "0123456789abcdef0123456789abcdef01234567" not in quorate.printed
    finally:
        quorate.end(signal.SIGTERM)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_sixty_tasks_with_each_side_killed_alone_and_both_together(studio, tmp_path, capsys):
    world = furnish(studio, str(tmp_path / "quorate.db"), 60, seed=7)
    config = tmp_path / "connect.toml"
    config.write_text("[label-studio]\npoll_seconds = 5\n")
    quorate = Quorate(world.database, studio, world.project, "--config", str(config))
    quorate.start()

    def trouble():
        wait_until(lambda: len(world.made) >= 20, "20 annotations", SLOWLY)
        quorate.end()
        wait_until(lambda: len(world.made) >= 25, "annotations without quorate", SLOWLY)
        quorate.start()
        wait_until(lambda: len(world.made) >= 45, "45 annotations", SLOWLY)
        studio.kill()
        studio.start()
        wait_until(lambda: len(world.made) >= 70, "70 annotations", SLOWLY)
        quorate.end()
        studio.kill()
        studio.start()
        quorate.start()

    try:
        run_to_the_end(world, trouble)
        check(world, tmp_path)
        rows, made = world.rows(), len(world.annotations())
        with capsys.disabled():
            late = sum(row.num_late for row in rows.values())
            print(
                f"\n{made} annotations of {3 * len(rows)}, {len(rows)} tasks closed, {len(world.served)} served, "
                f"0 after closing, {late} late; consensus as `quorate run`: all"
            )
    finally:
        quorate.end(signal.SIGTERM)


@pytest.mark.slow
def test_tasks_drawn_for_the_audit_stay_open_until_the_verdict_of_everybody_is_known(studio, tmp_path):
    world = furnish(studio, str(tmp_path / "quorate.db"), 4, seed=5)
    config = tmp_path / "connect.toml"
    config.write_text('[label-studio]\npoll_seconds = 5\n[settings]\naudit_rate = 1.0\nmethod = "quorum:votes=1"\n')
    quorate = Quorate(world.database, studio, world.project, "--config", str(config))
    quorate.start()
    try:
        run_to_the_end(world, lambda: None)
        rows = world.rows()
        assert [row.audit for row in rows.values()] == ["done"] * 4
        assert all(row.decided_votes == 1 and row.num_votes >= 2 for row in rows.values())
    finally:
        quorate.end(signal.SIGTERM)


def overlaps(world: World) -> list[int]:
    return [task["overlap"] for task in world.tasks()]


def project_settings(world: World) -> dict:
    """What people set for a project."""
    names = (
        "title", "description", "label_config", "expert_instruction", "maximum_annotations", "model_version",
        "overlap_cohort_percentage", "show_overlap_first", "sampling", "skip_queue", "show_skip_button",
        "enable_empty_annotation", "show_annotation_history", "show_collab_predictions",
    )  # fmt: skip
    with world.owner() as owner:
        told = owner.get(f"/api/projects/{world.project}/").raise_for_status().json()
    return {name: told[name] for name in names}


def settled(world: World, what: str, is_so=lambda: True) -> None:
    """Wait until both sides agree and something else is so, too."""
    wait_until(lambda: is_so() and world.is_in_line(), what, SLOWLY)


def test_what_people_change_is_followed_and_disconnecting_undoes_everything(studio, tmp_path):
    world = furnish(studio, str(tmp_path / "quorate.db"), 6, seed=3)
    before, project_before = {task["id"]: task for task in world.tasks()}, project_settings(world)
    config = tmp_path / "connect.toml"
    config.write_text('[label-studio]\npoll_seconds = 2\n[settings]\naudit_rate = 0.0\nmethod = "until-settled"\n')
    quorate = Quorate(world.database, studio, world.project, "--config", str(config))
    quorate.start()
    ada, ben, _ = PEOPLE
    one, two, three, four, five, six = before
    try:
        with world.owner() as owner:
            settled(world, "two are asked, a third only if they differ", lambda: overlaps(world) == [2] * 6)

            for person in (ada, ben):
                first = world.annotate(one, person, "cat").json()
            settled(world, "two agree", lambda: not world.rows()[one].is_open)
            owner.delete(f"/api/annotations/{first['id']}/").raise_for_status()
            settled(world, "a deleted answer opens the task again", lambda: world.rows()[one].is_open)

            world.annotate(two, ada, "cat")
            changed = world.annotate(two, ben, "cat").json()
            settled(world, "two agree", lambda: not world.rows()[two].is_open)
            owner.patch(f"/api/annotations/{changed['id']}/", json={"result": chosen("dog")}).raise_for_status()
            settled(world, "a changed answer opens it again", lambda: world.rows()[two].is_open)

            world.annotate(three, ada, None)
            world.annotate(three, ben, "bird")
            world.annotate(three, ben, "dog")  # the same person once more: their last answer counts
            settled(world, "a skip is an abstention", lambda: world.rows()[three].num_abstained == 1)
            assert world.ballots()[three, ben] == "dog"

            (hook,) = owner.get("/api/webhooks/", params={"project": world.project}).json()
            owner.delete(f"/api/webhooks/{hook['id']}/").raise_for_status()
            world.annotate(four, ben, "cat")
            settled(world, "an answer that no webhook reports", lambda: world.rows()[four].num_votes == 1)

            batch = [{"data": {"text": "new", "number": 99}}]
            owner.post(f"/api/projects/{world.project}/import", json=batch).raise_for_status()
            owner.delete(f"/api/tasks/{five}/").raise_for_status()
            wait_until(lambda: len(world.rows()) == 7, "an imported task is an item", SLOWLY)
            wait_until(lambda: world.rows()[five].withdrawn is not None, "a deleted one is withdrawn", SLOWLY)

            owner.patch(f"/api/projects/{world.project}/", json={"maximum_annotations": 5}).raise_for_status()
            settled(world, "overlaps are set again", lambda: 5 not in overlaps(world))

            (hook,) = owner.get("/api/webhooks/", params={"project": world.project}).json()
            secret = hook["headers"]["X-Quorate-Secret"]
            for said, status in ((secret, 204), (secret, 204), ("wrong", 401), ("", 401)):
                sent = {"action": "ANNOTATION_CREATED", "annotation": {"id": 1, "task": one}}
                assert httpx.post(hook["url"], json=sent, headers={"X-Quorate-Secret": said}).status_code == status
            settled(world, "a repeated webhook changes nothing")

            where = ("--url", studio.url, "--project", str(world.project), "--database", world.database)
            undone = quorate.run("connect", "label-studio", "--undo", *where)
            assert undone.returncode == 0, undone.stderr
            assert owner.get("/api/webhooks/", params={"project": world.project}).json() == []
            for task in world.tasks():
                people = {email_of(each) for each in task["annotations"] if not each["was_cancelled"]}
                assert task["overlap"] == 5
                assert task["is_labeled"] == (len(people) >= 5)
                assert not any(name.startswith("quorate") for name in task["data"])
                assert task["id"] not in before or task["data"] == before[task["id"]]["data"]
            assert project_settings(world) == {**project_before, "maximum_annotations": 5}
            assert world.rows()[six].withdrawn is None  # decisions stay
    finally:
        quorate.end(signal.SIGTERM)


def test_a_running_service_takes_a_project_with_a_personal_token_and_predictions_from_a_table(studio, tmp_path):
    world = furnish(studio, str(tmp_path / "quorate.db"), 4, seed=5)
    told = {task["id"]: (task["data"]["number"], CLASSES[task["data"]["number"] % 3]) for task in world.tasks()}
    rows = [(number, *(0.96 if each == name else 0.02 for each in CLASSES)) for number, name in told.values()]
    written(tmp_path / "probabilities.csv", ["picture", *CLASSES], reversed(rows[1:]))  # in any order; one has none
    how = 'predictions = "probabilities.csv"\nid_column = "picture"\nid_field = "number"\npoll_seconds = 2\n'
    config, token_file, personal = tmp_path / "connect.toml", tmp_path / "token", personal_token(studio)
    config.write_text(f"[label-studio]\n{how}[settings]\npool_size = 3\naudit_rate = 0.0\n")
    token_file.write_text(personal)
    token_file.chmod(0o600)
    client = LabelStudio(studio.url, personal)
    assert client.me() == OWNER
    client._access = "expired"
    assert client.me() == OWNER  # exchanged once more
    client.close()
    service = Service(world.database, studio, world.project)
    service.start()
    try:
        attached = service.attach("--config", str(config), "--token-file", str(token_file))
        assert attached.returncode == 0, attached.stderr
        wait_until(world.is_read, "the service has read all tasks", SLOWLY)
        first, *others = told
        before = world.rows()
        assert {task: before[task].label for task in others} == {task: told[task][1] for task in others}
        assert before[first].confidence < 0.5 < min(before[task].confidence for task in others)

        for person in PEOPLE[:2]:
            for task in told:
                world.annotate(task, person, "bird")
        settled(world, "two agree on every task", world.is_all_closed)
        assert {task["data"]["quorate_consensus"] for task in world.tasks()} == {"bird"}
        assert personal not in service.printed + attached.stdout + attached.stderr
        assert not any(personal.encode() in file.read_bytes() for file in tmp_path.glob("quorate.db*"))
    finally:
        service.end(signal.SIGTERM)
