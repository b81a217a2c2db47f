"""What is said on stderr while something takes a while."""

import time

from quorate.cli.output import waiting


def test_waiting_says_for_how_long_already_and_nothing_once_it_is_over(capsys):
    with waiting("Compiling", first_after=0.05, every=0.1):
        time.sleep(0.4)
    told = capsys.readouterr().err.splitlines()
    assert 2 <= len(told) <= 5
    assert set(told) == {"quorate: Compiling (0 s so far)"}
    time.sleep(0.2)
    assert capsys.readouterr().err == ""


def test_what_is_over_at_once_is_not_mentioned(capsys):
    with waiting("Compiling"):
        pass
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_a_line_with_the_time_elapsed(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with waiting("Compiling"):
        time.sleep(0.3)
    shown = capsys.readouterr()
    assert "Compiling" in shown.err
    assert "0:00:0" in shown.err
    assert shown.out == ""
