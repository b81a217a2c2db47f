"""A configuration survives environment variables, and refuses invalid values."""

import pytest

from quorate.errors import InvalidInput
from quorate_service.config import ServiceConfig
from tests.refusals import refused


@pytest.mark.parametrize(
    "config",
    [
        ServiceConfig(),
        ServiceConfig("postgresql://me:secret@host/db", "https://a.example", trust_proxy=True, metrics_token="t"),
        ServiceConfig(base_url="http://a.example", secure=True, demo=True, allow_private_addresses=True),
        ServiceConfig(secure=False, upload_megabytes=7, votes_per_second=5),
    ],
)
def test_a_configuration_survives_the_environment(config):
    assert ServiceConfig.from_environment(config.to_environment()) == config


@pytest.mark.parametrize(("url", "secure"), [("https://a.example/", True), ("http://a.example", False), (None, None)])
def test_the_address_says_whether_it_is_secure_unless_told_otherwise(url, secure):
    assert ServiceConfig(base_url=url).secure is secure
    assert ServiceConfig(base_url=url, secure=True).secure is True


def test_secrets_are_not_shown():
    shown = repr(ServiceConfig(database="postgresql://me:hunter2@host/db", metrics_token="s3cret"))
    assert "hunter2" not in shown
    assert "s3cret" not in shown


@pytest.mark.parametrize("url", ["a.example", "ftp://a.example", "https://", "https://a.example/path", "http://a?b=c"])
def test_an_invalid_address_is_refused(url):
    with refused("base_url"):
        ServiceConfig(base_url=url)


def test_an_invalid_flag_is_refused():
    with refused("QUORATE_SECURE"):
        ServiceConfig.from_environment({"QUORATE_SECURE": "maybe"})


@pytest.mark.parametrize("text", ["much", "-1", "2.5"])
@pytest.mark.parametrize("name", ["UPLOAD_MEGABYTES", "VOTES_PER_SECOND"])
def test_a_limit_that_is_not_a_number_is_refused(name, text):
    with pytest.raises(InvalidInput, match=f"(?i){name}='?{text}'?; expected a whole number"):
        ServiceConfig.from_environment({f"QUORATE_{name}": text})
