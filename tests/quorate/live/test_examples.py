"""The examples run unchanged."""

import asyncio
import io
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

EXAMPLES = Path(__file__).parents[3] / "examples"


def example(name):
    spec = spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_jury_saves_money_and_agrees_with_the_full_jury(capsys):
    asyncio.run(example("llm_jury").main(60))
    lines = capsys.readouterr().out.splitlines()
    rows = {line[:22].strip(): line[22:].split() for line in lines[2:6]}
    cents = {rule: float(row[0]) for rule, row in rows.items()}
    assert cents["panel error_cost=50"] < cents["panel"] < cents["whole jury"]
    assert cents["beta stop 0.95"] < cents["whole jury"]
    assert all(float(row[3].rstrip("%")) > 90 for row in rows.values())
    assert sum(int(row[4]) for row in rows.values()) > 0  # some calls did fail, and were counted
    assert any(line.startswith("large-1") and line.endswith("cents") for line in lines)


def test_people_vote_at_a_terminal_and_continue_after_the_end_of_input(tmp_path, monkeypatch, capsys):
    loop, path = example("live_loop"), tmp_path / "votes.jsonl"

    def typed(text):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        code = loop.main(path)
        return code, capsys.readouterr().out

    code, out = typed("f\nwhat\nfine\ns\n")
    assert code == 1 and "'what' is neither fine nor spam" in out
    assert "m1: fine (100% sure, 2 votes, settled)" in out and "Stopped. Open: m2; votes kept: 3" in out
    code, out = typed("spam\nf\nf\n")
    assert code == 0 and "m2: spam (100% sure, 2 votes, settled)" in out and "m3: fine" in out
    assert "m1" not in out and "4 votes instead of 6" in out


def test_the_panel_asks_a_real_server_and_pays_for_what_it_used(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    panels = example("openai_panel")
    with panels.stand_in() as address:
        panel = asyncio.run(panels.main(address, num_messages=60))
    sums = panel.result().summary()
    assert sums["items"] == 60 and sums["unanswered"] == 0 and sums["failures"] > 0
    assert sums["cost"] < 0.5 * sums["full_cost"]
    right = [
        outcome.label == ("spam" if (int(outcome.item) - 1) % 3 == 0 else "fine") for outcome in panel.result().outcomes
    ]
    assert sum(right) >= 54
    out = capsys.readouterr().out
    assert all(name in out for name in panels.MODELS) and "failed calls" in out
