"""The demo: images, colleagues who vote, items that close; starting it twice keeps one project."""

from sqlalchemy import func, select, update

from quorate_service.api.uploads import checked
from quorate_service.demo import FIRST_BATCH, MORE, NUM_COLLEAGUES, DemoVoters, digits, seed
from quorate_service.domain.projects import Projects
from quorate_service.domain.stats import stats
from quorate_service.domain.trail import disagreements
from quorate_service.store.schema import accounts, items, projects, uploads
from tests.quorate_service.conftest import BOTH


def count(store, table):
    with store.read() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def test_the_database_is_filled_once(store):
    first = seed(store, "http://127.0.0.1:8000", now=1000.0)
    second = seed(store, "http://127.0.0.1:8000", now=1001.0)
    assert first.startswith("http://127.0.0.1:8000/") and first != second
    assert (count(store, projects), count(store, items), count(store, uploads)) == (1, FIRST_BATCH, FIRST_BATCH)
    assert count(store, accounts) == 1 + NUM_COLLEAGUES


@BOTH
def test_the_colleagues_vote_and_items_close(store):
    seed(store, "http://127.0.0.1:8000", now=1000.0)
    colleagues = DemoVoters(Projects(store))
    assert all(colleagues.one_vote(now=1001.0 + number / 10) for number in range(60))
    with store.read() as connection:
        project = Projects(store).of_row(connection.execute(select(projects)).one())
        told = stats(connection, project, now=1010.0)
        assert list(disagreements(Projects(store), connection, project)) == []
    assert told.num_votes + told.num_abstained == 60
    assert told.num_closed > 0 and len(told.voters) > 3


def test_more_digits_are_added_after_the_owner_withdrew_all(store):
    seed(store, "http://127.0.0.1:8000", now=1000.0)
    with store.write() as connection:
        connection.execute(update(items).values(withdrawn=1000.5, is_wanted=False, slots=0))
    assert DemoVoters(Projects(store)).one_vote(now=1001.0)
    assert count(store, items) == FIRST_BATCH + MORE


def test_every_digit_is_an_image_that_can_be_uploaded():
    assert {(each.media_type, each.width, each.height) for each in map(checked, digits().files)} == {
        ("image/png", 96, 96)
    }
