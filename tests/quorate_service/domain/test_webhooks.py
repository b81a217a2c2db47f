"""Which deliveries are due, also after the clock was wrong."""

from random import Random

import pytest

from quorate_service.domain import webhooks
from quorate_service.domain.projects import Projects
from quorate_service.domain.settings import ProjectSettings
from quorate_service.domain.webhooks import claim, refused

NOW, YEARS = 1e9, 10 * 365 * 86400.0


@pytest.fixture
def waiting(store):
    """A store with one pending delivery."""
    project = Projects(store).create("pets", ProjectSettings(classes=["cat", "dog"], pool_size=5), now=NOW)
    hook, _ = webhooks.create_webhook(
        store, project.id, "https://example.org/h", ["item.completed"], allow_private=True, now=NOW
    )
    webhooks.ping(store, project.id, hook.id, now=NOW)
    return store


def test_claims_by_a_clock_that_was_ahead_are_ignored(waiting):
    assert len(claim(waiting, now=NOW + YEARS)) == 1
    assert len(claim(waiting, now=NOW + 60.0)) == 1
    assert claim(waiting, now=NOW + 61.0) == []  # that one is


def test_postponed_deliveries_are_tried_when_the_clock_is_set_back(waiting):
    (due,) = claim(waiting, now=NOW)
    refused(waiting, due, [], "no", now=NOW + 1.0, chance=Random(0))
    assert claim(waiting, now=NOW + 2.0) == []  # it waits for its second attempt
    assert len(claim(waiting, now=NOW - YEARS)) == 1
