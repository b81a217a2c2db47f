"""What the API answers is read strictly: what is not understood is an error, not a guess."""

import pytest

from quorate_service.label_studio.tasks import SingleChoice, UnexpectedAnswer, as_project, as_task, single_choice
from tests.refusals import refused

QUESTION = SingleChoice("pet", "t", ("cat", "dog", "bird"), "text")


def chose(*labels, name="pet"):
    return [{"from_name": name, "to_name": "t", "type": "choices", "value": {"choices": list(labels)}}]


def answer(number=1, user=4, result=None, **more):
    base = {"id": number, "completed_by": user, "was_cancelled": False, "result": result, "updated_at": "t"}
    return base | {"ground_truth": False} | more


def task(*annotations, predictions=(), **more):
    base = {"id": 9, "overlap": 2, "is_labeled": False, "data": {"text": "x"}, "annotations": list(annotations)}
    return base | {"predictions": list(predictions)} | more


def test_answers_are_read_with_their_people_in_the_order_of_their_numbers():
    found = as_task(
        task(answer(5, {"id": 3, "email": "c@d.e"}, chose("dog")), answer(2, 4, chose("cat")), answer(3, None, [])),
        QUESTION,
    )
    assert [(each.id, each.user, each.email, each.label) for each in found.annotations] == [
        (2, 4, "", "cat"), (3, None, "", None), (5, 3, "c@d.e", "dog"),
    ]  # fmt: skip


@pytest.mark.parametrize("result", [[], None, chose("cat", "dog"), chose("cow"), chose("cat", name="other"), "x"])
def test_an_answer_without_one_of_the_classes_is_no_vote_and_says_why(result):
    (found,) = as_task(task(answer(result=result)), QUESTION).annotations
    assert found.label is None
    assert found.unusable


def test_a_skip_is_not_unusable():
    (found,) = as_task(task(answer(result=[], was_cancelled=True)), QUESTION).annotations
    assert (found.label, found.is_skip, found.unusable) == (None, True, None)


def predicted(label, number=1, **more):
    return {"id": number, "result": chose(label), "model_version": "v1", "score": None} | more


def test_a_prediction_is_its_score_and_the_rest_is_shared():
    found = as_task(task(predictions=[predicted("dog", score=0.8)]), QUESTION)
    assert found.prediction == pytest.approx({"cat": 0.1, "dog": 0.8, "bird": 0.1})


def test_of_several_predictions_those_of_the_model_in_use_go_first_and_then_the_newest():
    several = [predicted("cat", 1), predicted("dog", 2, model_version="v0"), predicted("bird", 3, model_version="v0")]
    best = [max(found.prediction, key=found.prediction.get) for found in (
        as_task(task(predictions=several), QUESTION), as_task(task(predictions=several), QUESTION, "v1"),
    )]  # fmt: skip
    assert best == ["bird", "cat"]


def test_predictions_of_something_else_are_not_used():
    assert as_task(task(predictions=[predicted("cow"), {"id": 2, "result": []}, "x"]), QUESTION).prediction is None


@pytest.mark.parametrize(
    "wrong", [None, [], {"id": "9"}, task(overlap=None), task(is_labeled=1), task(annotations={}), task("no")]
)
def test_an_answer_of_another_shape_is_an_error(wrong):
    with pytest.raises(UnexpectedAnswer):
        as_task(wrong, QUESTION)


def test_a_project_without_its_settings_is_an_error():
    with pytest.raises(UnexpectedAnswer):
        as_project({"id": 1, "title": "x"})


TEXT = '<Text name="t" value="$text"/>'
PETS = '<Choice value="cat"/><Choice value="dog" alias="d"/>'


def view(*tags: str) -> str:
    return f"<View>{''.join(tags)}</View>"


@pytest.mark.parametrize("kind", ["", 'choice="single"', 'choice="single-radio"'])
def test_single_choices_are_read_with_aliases_as_annotations_name_them(kind):
    found = single_choice(view(TEXT, f'<Choices name="pet" toName="t" {kind}>{PETS}</Choices>'))
    assert (found.name, found.about, found.classes, found.source) == ("pet", "t", ("cat", "d"), "text")


def test_choices_within_layout_tags_are_found():
    inside = f'<View style="color: red"><Header value="Which?"/>{PETS}</View>'
    assert single_choice(view(TEXT, f'<Choices name="pet" toName="t">{inside}</Choices>')).classes == ("cat", "d")


@pytest.mark.parametrize(
    ("config", "field"),
    [
        (view(TEXT, f'<Choices name="p" toName="t" choice="multiple">{PETS}</Choices>'), "label_config"),
        (view(TEXT, f'<Choices name="p" toName="t" perRegion="true">{PETS}</Choices>'), "label_config"),
        (view(TEXT, f'<Choices name="p" toName="t" visibleWhen="choice-selected">{PETS}</Choices>'), "label_config"),
        (view(TEXT, '<Choices name="p" toName="t" value="$options"/>'), "label_config"),
        (view(TEXT, '<Choices name="p" toName="t"><Choice value="cat"/></Choices>'), "label_config"),
        (view(TEXT, '<Choices name="p" toName="t"><Choice value="a"><Choice value="b"/></Choice></Choices>'),
         "label_config"),
        (view(TEXT, '<Labels name="l" toName="t"><Label value="x"/></Labels>'), "label_config"),
        (view(TEXT), "label_config"),
        (view(TEXT, f'<Choices name="p" toName="t">{PETS}</Choices>', '<TextArea name="why" toName="t"/>'),
         "label_config"),
        ("<View>", "label_config"),
        ('<!DOCTYPE v [<!ENTITY a "aa">]><View/>', "label_config"),
    ],
)  # fmt: skip
def test_everything_else_is_refused_with_a_rule_and_a_fix(config, field):
    with refused(field) as caught:
        single_choice(config)
    assert caught.value.rule
    assert caught.value.fix


def test_of_several_questions_one_can_be_named():
    both = view(TEXT, f'<Choices name="p" toName="t">{PETS}</Choices>', '<TextArea name="why" toName="t"/>')
    assert single_choice(both, choices="p").name == "p"
    with refused("choices"):
        single_choice(both, choices="q")
