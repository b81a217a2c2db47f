"""The plan is a function of both sides' states: doing it leaves nothing to do, and every annotation counts once."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from quorate_service.label_studio.plan import (
    FIELDS,
    IGNORE_SKIPPED,
    REQUEUE_FOR_OTHERS,
    ItemView,
    RemoteBallot,
    VoteChange,
    ballots_of,
    original_of,
    plan_restore,
    plan_task,
    plan_votes,
    room,
)
from quorate_service.label_studio.tasks import RemoteAnnotation, Task

CLASSES = ("cat", "dog", "bird")
QUEUES = (REQUEUE_FOR_OTHERS, IGNORE_SKIPPED, "REQUEUE_FOR_ME")
NAMES = {user: f"ext:user-{user}" for user in range(1, 6)}
labels = st.sampled_from([*CLASSES, None])


@st.composite
def annotations(draw):
    """Some answers of some people, some of them more than one."""
    found = []
    for number in range(draw(st.integers(0, 8))):
        label = draw(labels)
        updated, user = f"2026-01-0{draw(st.integers(1, 9))}", draw(st.integers(1, 5))
        is_skip, is_truth = label is None and draw(st.booleans()), draw(st.booleans())
        found.append(RemoteAnnotation(number + 1, user, "", label, updated, is_skip, is_truth))
    return tuple(found)


views = st.builds(
    ItemView, is_closed=st.booleans(), wants=st.integers(0, 5), label=st.sampled_from(CLASSES),
    confidence=st.floats(0.3, 1.0), reason=st.sampled_from(["confident", "settled"]), num_votes=st.integers(0, 5),
)  # fmt: skip
data = st.dictionaries(st.sampled_from(["text", "image", *FIELDS]), st.text(max_size=3), max_size=6)
tasks = st.builds(
    Task, id=st.just(7), overlap=st.integers(1, 9), is_labeled=st.booleans(), data=data, annotations=annotations(),
    prediction=st.none(),
)  # fmt: skip


def done(ours: dict[str, str | None], acts: list[VoteChange]) -> dict[str, str | None]:
    """Our ballots after the acts; each must be allowed, as the service checks it."""
    after = dict(ours)
    for act in acts:
        if act.kind == "retract":
            del after[act.voter]
        else:
            assert act.voter not in after
            assert (act.kind == "vote") == (act.label is not None)
            after[act.voter] = act.label
    return after


def changed(task: Task, change: dict) -> Task:
    return replace(task, **change)


@given(annotations(), st.dictionaries(st.sampled_from(list(NAMES.values())), labels))
def test_doing_the_plan_makes_our_ballots_theirs_and_leaves_nothing_to_do(found, ours):
    theirs = ballots_of(found, NAMES)
    after = done(ours, plan_votes(theirs, ours))
    assert after == {each.voter: each.label for each in theirs}
    assert plan_votes(theirs, after) == []


@given(annotations(), st.integers(0, 8))
def test_a_plan_that_was_interrupted_is_taken_up_where_it_ended(found, at):
    theirs = ballots_of(found, NAMES)
    half = done({}, plan_votes(theirs, {})[:at])
    assert done(half, plan_votes(theirs, half)) == done({}, plan_votes(theirs, {}))


@given(annotations(), st.randoms())
def test_the_order_in_which_annotations_are_listed_does_not_matter(found, chance):
    other = list(found)
    chance.shuffle(other)
    assert ballots_of(found, NAMES) == ballots_of(other, NAMES)


@given(annotations())
def test_each_person_has_one_ballot_and_an_answer_goes_before_a_skip(found):
    theirs = ballots_of(found, NAMES)
    found = [each for each in found if not each.is_ground_truth]  # which is no vote of the pool
    people = {NAMES[each.user] for each in found}
    assert sorted(each.voter for each in theirs) == sorted(people)
    for ballot in theirs:
        said = {each.label for each in found if NAMES[each.user] == ballot.voter}
        assert ballot.label in said
        assert ballot.label is not None or said == {None}


def test_votes_are_taken_in_in_the_order_of_their_annotations():
    acts = plan_votes([RemoteBallot("a", "cat", 3), RemoteBallot("b", None, 5)], {"z": "dog"})
    assert [(act.kind, act.voter, act.annotation) for act in acts] == [
        ("retract", "z", None), ("vote", "a", 3), ("abstain", "b", 5),
    ]  # fmt: skip


def test_an_answer_of_a_deleted_account_is_somebody_of_its_own():
    lost = [RemoteAnnotation(1, None, "", "cat", "t"), RemoteAnnotation(2, None, "", "cat", "t")]
    assert len({each.voter for each in ballots_of(lost, {})}) == 2


@given(tasks, views, st.sampled_from(QUEUES))
def test_a_task_that_was_changed_needs_no_change(task, view, queue):
    after = changed(task, plan_task(task, view, skip_queue=queue))
    assert plan_task(after, view, skip_queue=queue) == {}
    assert {name: value for name, value in after.data.items() if name not in FIELDS} == {
        name: value for name, value in task.data.items() if name not in FIELDS
    }


@given(tasks, views, st.sampled_from(QUEUES))
def test_a_task_has_room_for_exactly_those_who_are_needed(task, view, queue):
    overlap, is_labeled = room(task, view, skip_queue=queue)
    counted = [each for each in task.annotations if not each.is_skip or queue != REQUEUE_FOR_OTHERS]
    taken = sum(not each.is_ground_truth for each in counted)  # as Label Studio counts the places that are taken
    people = len({each.user for each in task.annotations if not each.is_skip})
    if view.wants:
        assert not is_labeled
        assert overlap - max(taken, people) == view.wants
        assert people < overlap  # else Label Studio would call it done
    else:
        assert is_labeled
        assert 1 <= overlap <= max(people, 1)  # saving an answer again leaves it done


@given(tasks, views, st.sampled_from(QUEUES))
def test_the_decision_is_written_only_when_nobody_is_asked_any_more(task, view, queue):
    after = changed(task, plan_task(task, view, skip_queue=queue))
    assert (FIELDS[0] in after.data) == (view.is_closed and view.wants == 0)


@given(tasks, views, st.sampled_from(QUEUES))
def test_what_was_changed_can_be_put_back(task, view, queue):
    original = original_of(task)
    during = changed(task, plan_task(task, view, skip_queue=queue))
    after = changed(during, plan_restore(during, original, overlap=original["overlap"], skip_queue=queue))
    assert after == task
    assert plan_restore(after, original, overlap=original["overlap"], skip_queue=queue) == {}


def test_with_new_answers_a_task_is_put_back_as_label_studio_itself_would_have_it():
    before = Task(7, overlap=2, is_labeled=False, data={})
    during = replace(before, annotations=tuple(RemoteAnnotation(n, n, "", "cat", "t") for n in (1, 2)), overlap=2)
    change = plan_restore(during, original_of(before), overlap=2, skip_queue=REQUEUE_FOR_OTHERS)
    assert change == {"overlap": 2, "is_labeled": True}
