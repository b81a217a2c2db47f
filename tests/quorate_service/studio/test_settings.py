"""`connect.toml` is checked, and the token is read only from where nobody else can."""

import os

import pytest

from quorate.errors import InvalidInput
from quorate_service.label_studio.settings import (
    VARIABLE,
    ConnectSettings,
    read_config,
    read_token,
    token_of,
)
from tests.refusals import refused


def written(tmp_path, text):
    file = tmp_path / "connect.toml"
    file.write_text(text)
    return file


def test_both_sections_are_read_and_files_are_relative_to_it(tmp_path):
    file = written(tmp_path, '[label-studio]\npredictions = "p.csv"\n[settings]\npool_size = 3\n')
    found = read_config(file)
    assert found.how == {"predictions": str(tmp_path / "p.csv")}
    assert found.settings == {"pool_size": 3}


@pytest.mark.parametrize("text", ["pool_size = 3", "[project]\na = 1", "[settings", "settings = 3"])
def test_anything_else_is_refused(tmp_path, text):
    with pytest.raises(InvalidInput) as caught:
        read_config(written(tmp_path, text))
    assert caught.value.rule


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with refused("config"):
        read_config(tmp_path / "no.toml")


@pytest.mark.parametrize(("name", "value"), [("poll_seconds", 0), ("choices", 3), ("choices", ""), ("colour", "red")])
def test_options_are_checked(name, value):
    with refused(name):
        ConnectSettings.of({name: value})


def test_settings_come_back_from_json():
    import json

    how = ConnectSettings(choices="pet", poll_seconds=5.0)
    assert ConnectSettings.of(json.loads(how.dumps())) == how


def test_the_token_is_read_from_a_file_of_ones_own(tmp_path):
    file = tmp_path / "token"
    file.touch(mode=0o600)
    file.write_text("secret\n")
    assert token_of(ConnectSettings(token_file=str(file))) == "secret"


def test_a_token_that_others_can_read_is_refused(tmp_path):
    file = tmp_path / "token"
    file.write_text("x")
    os.chmod(file, 0o644)  # noqa: PTH101
    with refused("token_file"):
        read_token(file)


def test_without_a_file_the_token_is_in_the_environment():
    assert token_of(ConnectSettings(), {VARIABLE: "abc"}) == "abc"
    with refused("token"):
        token_of(ConnectSettings(), {})
