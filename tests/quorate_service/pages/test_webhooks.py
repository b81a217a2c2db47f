"""Webhooks by form: created with the API's checks, tested, removed; the secret is shown once."""

import re

from quorate_service.domain import webhooks
from quorate_service.domain.webhooks import KINDS
from quorate_service.pages.data import HOOK_KINDS


def test_every_kind_of_event_can_be_chosen():
    assert tuple(HOOK_KINDS) == KINDS


def test_an_owner_adds_tries_and_removes_a_webhook(world):
    browser = world.browser("owner")
    page = world.address("/data")
    form = {"url": "https://example.org/told", "item.completed": "yes", "project.changed": "yes"}
    made = browser.post(world.address("/webhooks/add"), data=form).text
    secret = re.search(r'value="(whsec_[^"]+)" aria-label="Secret of the webhook"', made)[1]
    listed = browser.get(page).text
    assert secret not in listed
    assert "https://example.org/told" in listed
    (hook,) = webhooks.list_webhooks(world.store, world.project)
    assert browser.post(world.address("/webhooks/test"), data={"id": hook.id}).status_code == 303
    (delivery,) = webhooks.list_deliveries(world.store, world.project, hook.id)
    assert delivery.kind == "ping"
    assert browser.post(world.address("/webhooks/remove"), data={"id": hook.id}).status_code == 303
    assert webhooks.list_webhooks(world.store, world.project) == []
    assert browser.post(world.address("/webhooks/remove"), data={"id": hook.id}).status_code == 404
