"""A single choice is read from the configuration; everything else is refused, with the reason."""

import pytest

from quorate.connect.label_studio.labelling import single_choice
from quorate.errors import InvalidInput

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
    with pytest.raises(InvalidInput) as refused:
        single_choice(config)
    assert refused.value.field == field
    assert refused.value.rule
    assert refused.value.fix


def test_of_several_questions_one_can_be_named():
    both = view(TEXT, f'<Choices name="p" toName="t">{PETS}</Choices>', '<TextArea name="why" toName="t"/>')
    assert single_choice(both, choices="p").name == "p"
    with pytest.raises(InvalidInput) as refused:
        single_choice(both, choices="q")
    assert refused.value.field == "choices"
