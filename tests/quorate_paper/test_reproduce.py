"""A reproduction: its files, its summary, continuing after a stop, the same for any number of jobs."""

import json
import re
from dataclasses import replace

import pytest

from quorate.errors import InvalidInput, QuorateError
from quorate.reports.section import Section
from quorate_paper.reproduce import reproduce
from tests.quorate_paper.toy_data import toy_section, write_toy_data
from tests.refusals import refused

TOY = {"shift": toy_section}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_toy_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def first(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("first")
    return reproduce("shift", data=data, out=out, seeds=(3, 4), jobs=1, experiments=TOY)


def timeless(path):
    """A file's content without the seconds and counts that a second run changes."""
    text = path.read_bytes()
    if path.name == "summary.json":
        content = json.loads(text)
        return {key: content[key] for key in content.keys() - {"seconds", "runs"}}
    if path.name == "report.html":
        return re.sub(rb"<h2 id=\"times\">.*?</table>", b"", text, flags=re.DOTALL)
    return text


def contents(done):
    return {str(file.relative_to(done.out)): timeless(file) for file in done.files}


def test_the_files_are_those_it_names(first):
    on_disk = {str(path.relative_to(first.out)) for path in first.out.rglob("*") if path.is_file()}
    assert {name for name in on_disk if not name.startswith("runs/")} == {
        "report.html", "summary.json", "runs.csv", "runs.parquet", "tables/shift-errors.csv", "figures/shift-bars.svg",
        "figures/shift-bars.png",
    }  # fmt: skip
    assert {str(file.relative_to(first.out)) for file in first.files} == on_disk - {
        name for name in on_disk if name.startswith("runs/")
    }


def test_the_summary_has_its_birth_its_claims_and_the_sections_keys(first):
    summary = json.loads((first.out / "summary.json").read_text(), parse_constant=pytest.fail)
    assert summary["seeds"] == [3, 4]
    assert summary["quick"] is False
    assert summary["parts"] == ["shift"]
    assert list(summary["data"]) == ["imagenet16h_shift"]
    assert len(summary["data"]["imagenet16h_shift"]) == 64
    assert [claim["holds"] for claim in summary["claims"]] == [True, False]
    assert [claim["source"] for claim in summary["claims"]] == ["section 4.4", ""]
    assert set(summary["seconds"]) == {"shift", "files", "total"}
    assert summary["runs"]["run"] == 2 * 2 * (2 + 3 + 1)
    assert summary["shift_table"][0]["se"] is None
    assert {"version", "revision", "left_out"} <= summary.keys()


def test_a_second_time_everything_comes_from_the_store_and_is_equal(first, data):
    before = contents(first)
    again = reproduce("shift", data=data, out=first.out, seeds=(3, 4), experiments=TOY)
    assert (again.num_run, again.num_stored) == (0, first.num_run)
    assert contents(again) == before


def test_another_report_in_the_same_folder_leaves_nothing_of_the_first_but_its_runs(data, tmp_path):
    def other(context):
        section = toy_section(context)
        return replace(section, key="curves", tables=(replace(section.tables[0], key="areas"),), figures=())

    out = tmp_path / "out"
    both = {"shift": toy_section, "curves": other}
    reproduce("shift", data=data, out=out, seeds=(3, 4), experiments=both)
    runs = {path: path.read_bytes() for path in (out / "runs").rglob("*.npz")}
    (out / "tables" / "mine.csv").write_text("a user's own")
    (tmp_path / "precious.csv").write_text("a user's own")
    summary = json.loads((out / "summary.json").read_text())
    summary["files"] += ["../precious.csv", "tables/../../precious.csv", str(next(iter(runs)).relative_to(out)), 3]
    for files in (summary["files"][:-1], summary["files"]):  # as one may find them: nothing outside is touched
        (out / "summary.json").write_text(json.dumps(summary | {"files": files}))
        done = reproduce("curves", data=data, out=out, seeds=(3,), experiments=both)
        names = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
        assert {name for name in names if not name.startswith("runs/")} == {
            "report.html", "summary.json", "runs.csv", "runs.parquet", "tables/curves-areas.csv", "tables/mine.csv",
        }  # fmt: skip
        assert json.loads((out / "summary.json").read_text())["files"] == [
            file.relative_to(out).as_posix() for file in done.files
        ]
        assert (tmp_path / "precious.csv").exists()
        assert all(path.read_bytes() == content for path, content in runs.items())


def test_the_number_of_jobs_changes_nothing(first, data, tmp_path):
    other = reproduce("shift", data=data, out=tmp_path, seeds=(3, 4), jobs=2, experiments=TOY)
    assert contents(other) == contents(first)


def test_what_was_done_before_an_interrupt_is_not_done_again(data, tmp_path):
    jobs_done = 0

    def interrupt(done, total, what):
        nonlocal jobs_done
        jobs_done += what != "shift: starting"
        if jobs_done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce("shift", data=data, out=tmp_path, jobs=1, progress=interrupt, experiments=TOY)
    assert not (tmp_path / "report.html").exists()
    after = reproduce("shift", data=data, out=tmp_path, jobs=1, experiments=TOY)
    assert after.num_stored > 0
    assert after.num_run + after.num_stored == 2 * 3 * (2 + 3 + 1)


def test_missing_data_is_reported_and_the_rest_goes_on(data, tmp_path):
    (tmp_path / "chaosnli_snli.npz").write_bytes((data / "chaosnli_snli.npz").read_bytes())
    parts = {"curves": lambda _: Section("curves", "Curves", ("x",), (), (), ()), "shift": toy_section}
    done = reproduce("all", data=tmp_path, out=tmp_path / "out", experiments=parts)
    assert [part.name for part in done.parts] == ["curves", "shift"]
    assert len(done.left_out) == 4
    assert "curves for CIFAR-10H are left out: no cifar10h.npz in" in (done.out / "report.html").read_text()


def test_data_that_do_not_serve_one_part_do_not_cost_the_others(data, tmp_path):
    def too_short(context):
        raise InvalidInput("query_free_after=1000; the stream has 40 items")

    done = reproduce("all", data=data, out=tmp_path, experiments={"two-phase": too_short, "shift": toy_section})
    assert [part.name for part in done.parts] == ["shift"]
    assert done.left_out == ("two-phase is left out: query_free_after=1000; the stream has 40 items",)
    with pytest.raises(InvalidInput, match="40 items"):
        reproduce("two-phase", data=data, out=tmp_path, experiments={"two-phase": too_short})


def test_a_folder_of_another_command_is_not_written_over(data, tmp_path):
    page = tmp_path / "report.html"
    page.write_text("of another command")
    with refused("out", value=str(tmp_path)):
        reproduce("shift", data=data, out=tmp_path, jobs=1, experiments=TOY)
    assert page.read_text() == "of another command"


def test_no_data_at_all_says_how_to_get_it(tmp_path):
    with refused("data", value=str(tmp_path)) as caught:
        reproduce("shift", data=tmp_path, out=tmp_path / "out", experiments=TOY)
    assert all(command in caught.value.fix for command in ("quorate reproduce list", "quorate reproduce fetch"))
    assert not (tmp_path / "out").exists()


def test_two_sections_with_one_key_are_refused_before_anything_is_written(data, tmp_path):
    twice = {"shift": toy_section, "two-phase": toy_section}
    with pytest.raises(QuorateError, match="'shift_table', which"):
        reproduce(data=data, out=tmp_path, experiments=twice)
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_two_tables_with_one_key_are_refused(data, tmp_path):
    def double(context):
        section = toy_section(context)
        return replace(section, tables=section.tables * 2)

    with pytest.raises(QuorateError, match="shift-errors"):
        reproduce(data=data, out=tmp_path, experiments={"shift": double})


@pytest.mark.parametrize(
    "wrong", [{"what": "everything"}, {"seeds": ()}, {"seeds": (3, 3)}, {"seeds": (-1,)}, {"jobs": 0}]
)
def test_wrong_arguments_are_named(data, tmp_path, wrong):
    with pytest.raises(InvalidInput) as caught:
        reproduce(**({"data": data, "out": tmp_path / "out", "experiments": TOY} | wrong))
    assert caught.value.field in wrong


def test_it_says_before_it_starts_how_long_it_takes_here(data, tmp_path):
    said = []

    def stop(done, total, what):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce("shift", data=data, out=tmp_path, seeds=(3, 4), quick=True, progress=stop, announce=said.append)
    assert len(said) == 1 and re.search(r"\d+ (s|minutes) for [\d,]+ runs", said[0])
    assert not list((tmp_path / "runs").rglob("*.npz"))
