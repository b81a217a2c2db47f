"""The command itself: help that teaches, version, exit codes, errors as one line."""

import subprocess
import sys

import pytest

import quorate.commands.demo_command
from quorate.commands.main import SENTENCES, load
from quorate.version import __version__


@pytest.mark.parametrize("name", SENTENCES)
def test_every_option_of_every_command_has_a_help_text(name):
    for command in getattr(load(name), "commands", {name: load(name)}).values():
        for option in command.params:
            assert option.help, f"{command.name} --{option.name}"


@pytest.mark.parametrize("name", SENTENCES)
def test_the_sentence_of_a_command_is_the_first_of_its_own_help(name):
    assert " ".join(load(name).help.split("\n\n")[0].split()) == SENTENCES[name]


def test_an_unknown_option_is_a_usage_error(run):
    assert run("decide", "--nonsense").exit_code == 2


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_take_less_than_half_a_second_and_load_no_numeric_library(option):
    code = f"""
import atexit, sys, time
from quorate.commands.main import main
heavy = ("numpy", "scipy", "pyarrow", "matplotlib", "sqlalchemy", "quorate.session", "quorate.tables")
atexit.register(lambda: print([name for name in heavy if name in sys.modules], time.process_time(), file=sys.stderr))
sys.argv = ["quorate", "{option}"]
main()
"""
    shown = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    loaded, seconds = zip(*(each.stderr.rsplit(maxsplit=1) for each in shown), strict=True)
    assert set(loaded) == {"[]"}
    assert min(map(float, seconds)) < 0.5


def test_python_m_quorate_is_the_command():
    shown = subprocess.run([sys.executable, "-m", "quorate", "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == f"quorate {__version__}"


def test_an_interrupt_in_a_command_gives_exit_code_130(run, monkeypatch, tmp_path):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(quorate.commands.demo_command, "run_demo", interrupted)
    result = run("demo", "--out", tmp_path / "out")
    assert result.exit_code == 130
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("run", "--votes", "gone.csv", "--out", "out"), "--votes"),
        (("run", "--votes", "votes.csv", "--predictions", "gone.csv", "--out", "out"), "--predictions"),
        (("run", "--votes", "votes.csv", "--error-cost", "gone.csv", "--out", "out"), "--error-cost"),
        (("plan", "--votes", "gone.csv"), "--votes"),
        (("audit", "draw", "--decisions", "gone.csv", "--rate", "0.1", "--seed", "1"), "--decisions"),
        (("audit", "report", "--votes", "votes.csv", "--audit", "gone.csv"), "--audit"),
    ],
)
def test_a_file_that_is_not_there_is_named_with_its_option(run, tmp_path, monkeypatch, command, option):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").write_text("task,worker,label\na,ada,cat\nb,ada,dog\n")
    result = run(*command)
    assert result.exit_code == 1
    assert result.stderr == f"quorate: {option}: gone.csv not found.\n"
