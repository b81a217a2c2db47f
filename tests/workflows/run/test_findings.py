"""Several findings of one table: each as a run of its own, totals and reads over all, one folder."""

import json
from html.parser import HTMLParser
from urllib.parse import unquote

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pandas")

import pandas as pd

from quorate import run, run_findings
from quorate.errors import InvalidInput
from quorate.workflows.run.findings import folder_names
from quorate.workflows.run.result import FILES
from tests.workflows.run import run_data

NAMES = ["nodule", "pleural effusion / left"]


def reads(num_items=40, blank=False):
    """Five readers, two findings a row; `blank`: the first row lacks the second one."""
    streams = [run_data.stream(num_items=num_items, num_classes=2, seed=seed) for seed in (1, 2)]
    first, second = (run_data.vote_rows(each) for each in streams)
    table = pd.DataFrame(first, columns=["image", "reader", NAMES[0]])
    table[NAMES[1]] = [row[2] for row in second]
    if blank:
        table.loc[0, NAMES[1]] = None
    probs = pd.DataFrame(run_data.prediction_rows(streams[0]), columns=["id", *streams[0].classes])
    return table, probs


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    table, probs = reads()
    folder = tmp_path_factory.mktemp("findings") / "out"
    return run_findings(table, NAMES, {NAMES[0]: probs}, price=2.0, out=folder), folder, table, probs


def test_each_finding_is_what_a_run_of_its_column_gives(done):
    result, _, table, probs = done
    for name, said in zip(NAMES, (probs, None), strict=True):
        alone = run(table[["image", "reader", name]], said, label=name, price=2.0)
        assert result.results[name].decisions.equals(alone.decisions)


def test_totals_are_the_sums_over_the_findings(done):
    result, *_ = done
    summary, each = result.summary(), [found.summary() for found in result.results.values()]
    assert summary["votes"]["total"] == sum(found["votes"]["total"] for found in each)
    assert summary["votes"]["money"]["spent"] == 2.0 * summary["votes"]["total"]
    assert summary["votes"]["saved_against_ask_all"] == 1 - summary["votes"]["total"] / (2 * 40 * 5)
    assert summary["error"]["wrong"] == sum(found["error"]["wrong"] for found in each)


def test_an_item_needs_the_reads_of_its_slowest_finding(done):
    result, *_ = done
    first, second = (each.decisions.set_index("item")["num_votes"] for each in result.results.values())
    slowest = np.maximum(first, second.loc[first.index])
    assert (slowest > first).any()
    assert result.summary()["reads"]["total"] == slowest.sum()


def test_reads_are_not_known_where_a_row_lacks_a_finding_or_votes_are_shuffled():
    assert run_findings(reads(10, blank=True)[0], NAMES).summary()["reads"] is None
    assert run_findings(reads(10)[0], NAMES, order="shuffled").summary()["reads"] is None


class Links(HTMLParser):
    """The addresses a page links to."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.found.append(dict(attrs)["href"])


def test_the_folder_has_one_report_that_links_to_a_folder_per_finding(done):
    result, folder, *_ = done
    assert {path.name for path in folder.iterdir()} == {"report.html", "summary.json", *result.folders.values()}
    for name in result.folders.values():
        assert {path.name for path in (folder / name).iterdir()} == set(FILES)
    links = Links()
    links.feed((folder / "report.html").read_text())
    assert [folder / unquote(link) for link in links.found] == [
        folder / name / "report.html" for name in result.folders.values()
    ]
    top = json.loads((folder / "summary.json").read_text())
    assert top == json.loads(json.dumps(result.summary()))
    own = json.loads((folder / result.folders[NAMES[0]] / "summary.json").read_text())
    assert {key: value for key, value in top["findings"][NAMES[0]].items() if key != "folder"} == own


def test_names_that_coincide_in_a_folder_stay_apart():
    found = folder_names(["a/b", "a:b", "A_B", "..", "summary.json"])
    assert len({name.casefold() for name in found.values()} | {"summary.json", "report.html"}) == 7
    assert not any(set("/\\:") & set(name) or name.startswith(".") for name in found.values())


@pytest.mark.parametrize(
    ("findings", "options", "field"),
    [
        ([], {}, "findings"),
        ("nodule", {}, "findings"),
        (["nodule", "nodule"], {}, "findings"),
        (["nodule", "mass"], {}, "findings"),
        (["mass", "nodule"], {}, "findings"),
        (["nodule"], {"label": "nodule"}, "label"),
        (["nodule"], {"truth": "truth.csv"}, "truth"),
        (["nodule"], {"format": "wide"}, "format"),
        (["nodule"], {"predictions": {"mass": "probs.csv"}}, "predictions"),
    ],
)
def test_a_mistake_names_its_argument_and_nothing_is_written(findings, options, field, tmp_path):
    with pytest.raises(InvalidInput) as caught:
        run_findings(reads(4)[0], findings, out=tmp_path / "out", **options)
    assert caught.value.field == field
    assert not (tmp_path / "out").exists()


def test_an_error_in_one_finding_says_which():
    with pytest.raises(InvalidInput) as caught:
        run_findings(reads(4)[0], NAMES, {NAMES[1]: "not-there.csv"})
    assert caught.value.field == "predictions"
    assert NAMES[1] in caught.value.place


def test_a_folder_is_replaced_only_if_asked_for(done):
    _, folder, table, _ = done
    with pytest.raises(InvalidInput) as caught:
        run_findings(table, NAMES, out=folder)
    assert caught.value.field == "out"
