"""Work on many items: in batch threads, committed in parts, with the same response each time."""

import pytest
from sqlalchemy import event

from quorate_service.domain import item_actions
from quorate_service.domain.events import list_actions


@pytest.mark.parametrize(("path", "body"), [("close-open", None), ("pool", {"pool_size": 3})])
def test_work_on_many_items_does_not_delay_votes(world, monkeypatch, path, body):
    """Each batch is committed separately, and every commit is made in a batch thread."""
    monkeypatch.setattr(item_actions, "BATCH", 2)
    world.items(*"abcde")
    owner, taken = world.client("owner"), []

    def committed(_connection):
        threads = getattr(world.app.state, "batch_threads", None)
        taken.append(0 if threads is None else threads.borrowed_tokens)

    event.listen(world.store.engine, "commit", committed)
    sent = {"headers": {"Idempotency-Key": "k1"}} | ({} if body is None else {"json": body})
    done = owner.api("POST", f"/projects/{world.here}/{path}", 200, **sent)
    assert sum(each == 1 for each in taken) >= 4, "three batches, and the note that it is done"
    again = owner.api("POST", f"/projects/{world.here}/{path}", 200, **sent)
    assert again.json() == done.json() and 5 in done.json().values()
    assert again.headers["Idempotency-Replayed"] == "true"
    with world.store.read() as connection:
        kinds = [each.kind for each in list_actions(connection, world.here)]
    assert kinds[1:] == (["close-open"] if body is None else ["pool"] * 5)
