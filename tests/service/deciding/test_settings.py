"""What an owner may choose, and what is said of choices that make no sense."""

import pytest

from quorate.errors import InvalidInput
from quorate.service.deciding.settings import ProjectSettings


def test_no_votes_at_all_are_no_limit_to_choose():
    chosen = ProjectSettings(classes=["cat", "dog"], pool_size=5)
    with pytest.raises(InvalidInput, match="max_votes=0; expected at least 1, or every item would close unasked"):
        chosen.changed(max_votes=0)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"threshold": 0.0095}, r"threshold=0\.0095; expected a share above 0\.5, .* did you mean 0\.95\? Raise it"),
        ({"threshold": 0.5}, r"threshold=0\.5; expected a share above 0\.5, which is one of 2 classes"),
        ({"method": "finexp:threshold=0.3"}, r"threshold=0\.3; .* or every item would close unasked; raise it"),
        ({"budget": 5.5}, r"budget=5\.5; expected at most pool_size, which is 5"),
    ],
)
def test_a_goal_that_asks_nobody_or_more_than_there_are_is_refused(given, said):
    with pytest.raises(InvalidInput, match=said):
        ProjectSettings(classes=["cat", "dog"], pool_size=5, **given).check_limits()


@pytest.mark.parametrize("name", ["quorate", "finexp:threshold=0.9"])
def test_what_a_method_learns_with_stays_as_past_decisions_rely_on_it(name):
    chosen = ProjectSettings(classes=["cat", "dog"], pool_size=5, method=name)
    other = f"{name}{',' if ':' in name else ':'}hyperprior=paper"
    with pytest.raises(
        InvalidInput, match=r"hyperprior=paper'?; expected hyperprior=default.*, on which past decisions rely"
    ):
        chosen.changed(method=other)
    assert chosen.changed(method=name.replace("0.9", "0.8")).pool_size == 5


def test_settings_of_older_versions_stay_readable_and_other_settings_of_theirs_can_change():
    old = ProjectSettings.from_json({"classes": ["cat", "dog"], "pool_size": 2, "min_votes": 3})
    assert old.changed(price=0.5, pool_size=2, min_votes=3).price == 0.5, "as a form sends them all"
    with pytest.raises(InvalidInput, match="min_votes=3; expected at most pool_size, which is 1"):
        old.changed(pool_size=1)
