"""Names as people write them -> their meaning: columns -> roles, labels -> classes, labels -> "no answer".

Called by the readers; if the caller names a column, nothing is guessed. Needs only the standard library and numpy, so
that the options of the commands are known without the extra `tables`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from difflib import get_close_matches
from typing import Any

import numpy as np

from quorate.validate import class_names, invalid

# Names for voters; "user" comes last, because it may also be the user who wrote the text.
PEOPLE = (
    "worker", "annotator", "rater", "labeler", "labeller", "voter", "expert", "judge", "coder", "reader", "reviewer",
    "performer", "contributor", "participant", "respondent", "grader", "scorer", "evaluator", "assessor", "examiner",
    "observer", "tagger", "marker", "panelist", "panellist", "volunteer", "crowdworker", "turker",
    "doctor", "physician", "clinician", "radiologist", "pathologist", "dermatologist", "cardiologist", "oncologist",
    "ophthalmologist", "neurologist", "surgeon", "nurse", "specialist", "technician",
)  # fmt: skip
_OF_PATIENTS = (  # the smallest unit first: a study has several images, a patient several studies
    "sop_instance_uid", "lesion_id", "slide_id", "specimen_id", "scan_id", "series_id", "exam_id", "case_id", "case_no",
    "case_number", "case_name", "study_id", "study_uid", "study_instance_uid", "study_no", "study_number", "accession",
    "accession_id", "accession_no", "accession_number",
)  # fmt: skip
# In order of preference; compared without case, spaces, dots, dashes and underscores.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "task": (
        "task", "task_id", "item", "item_id", "example", "example_id", "sample", "sample_id", "instance", "instance_id",
        "question", "question_id", "subject", "subject_id", "unit", "unit_id", "object", "object_id", "document",
        "document_id", "doc_id", "image", "image_id", "image_name", "img", "img_id", "photo", "photo_id", "picture",
        "picture_id", "video_id", "text_id", "sentence_id", "comment_id", "post_id", "tweet_id", "message_id",
        "review_id", "ticket_id", "report_id", "filename", "file_name", "file", "record_id", "hit_id", "pair_id",
        *_OF_PATIENTS, "case", "lesion", "slide", "scan", "exam", "study", "patient_id", "patient",
        "uid", "key", "id", "index", "Unnamed: 0",
    ),
    "worker": (
        *(noun + ending for noun in PEOPLE for ending in ("", "_id", "_name", "_no", "_number", "_code", "_email")),
        *(f"{done}_by" for done in ("completed", "annotated", "labeled", "labelled", "rated", "coded", "judged", "read",
                                    "reviewed", "graded", "scored", "tagged", "voted", "answered", "submitted")),
        "user", "user_id", "user_name", "email",
    ),
    "label": (
        "label", "vote", "answer", "choice", "class", "category", "annotation", "response", "judgment", "judgement",
        "rating", "class_label", "label_name", "class_name", "value", "finding", "findings", "diagnosis", "dx", "read",
        "reading", "verdict", "opinion", "assessment", "impression", "grade", "decision",
    ),
    "cells": (  # all votes of an item
        "label_counter", "label_counts", "vote_counts", "votes", "labels", "annotations", "answers", "label_list",
        "responses", "judgments", "judgements", "ratings", "counts",
    ),
    "truth": (
        "truth", "gold", "gold_label", "true_label", "true_class", "ground_truth", "reference", "correct", "label",
        "class", "answer", "diagnosis",
    ),
    "cost": ("cost", "price", "cost_per_vote", "price_per_vote", "fee", "rate"),
    "timestamp": (
        "timestamp", "time", "datetime", "date", "created_at", "submitted_at", "completed_at", "voted_at", "updated_at",
        "created", "submit_time", "end_time",
    ),
    "prediction": (
        "prediction", "predicted", "predicted_label", "predicted_class", "pred", "pred_label", "hard_label",
        "model_label", "label", "class", "category",
    ),
    "score": (
        "score", "confidence", "probability", "prob", "proba", "certainty", "p", "positive_probability",
        "positive_score",
    ),
}  # fmt: skip
_IDS = ("task", "task_id", "item", "item_id", "id", "uid", "key")
SYNONYMS["item"] = (  # in tables with a row per item: a class may be named "image" or "object", so ids come first
    *_IDS, *(name for name in SYNONYMS["task"] if name.endswith("_id") and name not in _IDS),
    *(name for name in SYNONYMS["task"] if not name.endswith("_id") and name not in _IDS),
)  # fmt: skip
SUMMARIES = frozenset(  # of the votes or the truth: not a person's votes, and not a class
    {
        "gold", "golden", "goldstandard", "truth", "groundtruth", "correct", "answerkey", "target", "consensus",
        "majority", "plurality", "unanimous", "adjudicated", "adjudication", "aggregate", "aggregated", "final",
        "reference", "resolved", "outcome", "winner", "pred", "prediction", "predicted", "total", "labelcount",
        "votecount", "numvotes", "numlabels", "numannotators", "numraters", "nvotes", "nlabels", "nannotators",
        "nraters", "entropy", "agreement", "kappa", "distribution", "dist", "labeldist", "labeldistribution",
    }
)  # fmt: skip
_OUTCOMES = r"true|ref|old|original|previous|model|ai|classifier|algorithm"  # only before the name of a label


def squeezed(name: str) -> str:
    """A column's name without case, spaces, dots, dashes and underscores.

    >>> squeezed("Task_ID") == squeezed("task id")
    True
    """
    return re.sub(r"[\s_.\-]+", "", name.removeprefix("\ufeff")).casefold()


def find_column(
    role: str,
    columns: Sequence[str],
    *,
    named: str | None = None,
    source: str = "source",
    argument: str | None = None,
    advice: str = "",
    tried: str | None = None,
) -> str | None:
    """The column of a role: the one named, else the best-known synonym, else None.

    `argument`: the argument that an error names, by default the role. `tried`: a column that, if present, comes before
    the synonyms.

    >>> find_column("worker", ["Item ID", "Annotator", "answer"])
    'Annotator'
    """
    if named is not None:
        if named not in columns:
            rule = f"a column of {source}, which has {list(columns)[:30]}"
            raise invalid(argument or role, named, rule, f"name one of them{advice}.")
        return named
    if tried in columns:
        return tried
    by_name = {squeezed(column): column for column in reversed(columns)}
    return next((by_name[squeezed(synonym)] for synonym in SYNONYMS[role] if squeezed(synonym) in by_name), None)


def is_summary(column: str) -> bool:
    """Whether a column has one of the usual names of the truth or of a summary of the votes.

    >>> [is_summary(name) for name in ("Ground Truth", "majority_label", "final_dx", "model_pred", "ann", "Dr Gold")]
    [True, True, True, True, False, False]
    """
    name = squeezed(column)
    return name in SUMMARIES or _LABEL_OF_OUTCOME.fullmatch(name) is not None


_LABEL_OF_OUTCOME = re.compile(
    f"({'|'.join(sorted(SUMMARIES))}|{_OUTCOMES})"
    f"({'|'.join(squeezed(name) for name in (*SYNONYMS['label'], *SYNONYMS['prediction']))})s?"
)


def is_nameless(column: str) -> bool:
    """Whether a column has no real name, such as an index that pandas saved.

    >>> is_nameless("Unnamed: 0"), is_nameless(" "), is_nameless("unnamed species")
    (True, True, False)
    """
    return re.fullmatch(r"\s*(unnamed(: ?\d+|_\d+)?)?\s*", column.removeprefix("\ufeff").casefold()) is not None


def label_like(columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that are named like labels.

    >>> label_like(["Answer", "duration"])
    ('Answer',)
    """
    names = {squeezed(name) for name in SYNONYMS["label"]}
    return tuple(column for column in columns if squeezed(column) in names)


def refuse_own_output(columns: Sequence[str], source: str, *, expected: str) -> None:
    """Refuse quorate's own output: decisions and scores are neither votes nor a classifier's predictions."""
    if "consensus_label" in columns and ("stop_reason" in columns or "reason" in columns):
        rule = f"{expected}, but {source} is output of quorate (it has a column consensus_label)"
        raise invalid("source", source, rule, f"name the file of the {expected}.")


def is_numbered_person(column: str) -> bool:
    """Whether a column is named like one of several people, such as "annotator_2", "rater B" or "r1".

    >>> [is_numbered_person(name) for name in ("annotator_2", "rater B", "r1", "annotator", "cat")]
    [True, True, True, False, False]
    """
    stem = re.sub(r"([\s_.\-]*\d+|[\s_.\-]+[A-Za-z])$", "", column.strip())
    names = {squeezed(name) for name in SYNONYMS["worker"]} | {"r", "w", "a", "u"}
    return stem != column.strip() and squeezed(stem) in names


_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))\.0+")


@dataclass(frozen=True, slots=True)
class Match:
    """The class of a label (None: unknown), and the rule that was needed to match it (None: an exact match)."""

    name: str | None
    rule: str | None


def match_labels(labels: Sequence[str | None], classes: Sequence[str] | None, *, given: bool) -> list[Match]:
    """The class of each label. Without `classes` every label is a class; other labels are unknown only if `given`.

    >>> [match.name for match in match_labels(["cat", " cat", "Cat", "bird"], ["cat", "dog"], given=True)]
    ['cat', 'cat', 'cat', None]
    """
    names = tuple(classes) if classes is not None else ()
    exact, numbers, cases = set(names), _unique(names, whole_number), _unique(names, str.casefold)
    written = {label.strip() for label in labels if label is not None}
    matches = {label: _match(label, exact, numbers, cases, None if given else written) for label in labels if label}
    return [matches.get(label or "", Match(None, None)) for label in labels]


def whole_number(text: str) -> str:
    """A whole number without its decimals; any other text unchanged.

    >>> whole_number("1.0"), whole_number("01.0"), whole_number("1.5")
    ('1', '01.0', '1.5')
    """
    whole = _WHOLE.fullmatch(text)
    return whole[1] if whole else text


def cell_text(value: object) -> str | None:
    """A cell's value as text, as in a CSV.

    >>> cell_text(7.0), cell_text("007"), cell_text(True), cell_text(None)
    ('7.0', '007', 'true', None)
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    return str(value)


def name_text(name: object) -> str:
    """A column's or a class's name as text, written like a cell with the same value.

    >>> name_text("cat"), name_text(np.int64(3)), name_text(True), name_text(2.0)
    ('cat', '3', 'true', '2')
    """
    if isinstance(name, str):
        return name
    plain = name.item() if isinstance(name, np.generic) else name
    return whole_number(cell_text(plain) or "") if isinstance(plain, (bool, int, float)) else str(plain)


def name_texts(names: Any) -> Any:  # noqa: ANN401
    """One name or several as text; None stays None."""
    if names is None or isinstance(names, str):
        return names
    return [name_text(name) for name in names] if isinstance(names, Iterable) else name_text(names)


def class_texts(classes: Sequence[Any] | None) -> tuple[str, ...] | None:
    """The classes a caller names, such as `model.classes_`, as text; at least two different ones, or None.

    >>> class_texts(np.array([0, 1]))
    ('0', '1')
    """
    if classes is None:
        return None
    texts = classes if isinstance(classes, str) else name_texts(classes)
    return class_names(texts)


def meant(name: str, names: Sequence[str]) -> str | None:
    """The one of `names` that a misspelt name probably stands for, or None.

    >>> meant("dgo", ["cat", "dog"]), meant("CAT", ["cat", "dog"]), meant("horse", ["cat", "dog"])
    ('dog', 'cat', None)
    """
    folded = {candidate.casefold(): candidate for candidate in reversed(names)}
    close = get_close_matches(name.strip().casefold(), list(folded), n=1)
    return folded[close[0]] if close else None


def differ_by_case(names: Iterable[str]) -> list[str]:
    """The names that differ from another one by case only.

    >>> differ_by_case(["cat", "Cat", "dog"])
    ['cat', 'Cat']
    """
    folded: dict[str, list[str]] = {}
    for name in names:
        folded.setdefault(name.casefold(), []).append(name)
    return [name for group in folded.values() if len(group) > 1 for name in group]


def _match(
    label: str, exact: set[str], numbers: dict[str, str], cases: dict[str, str], written: set[str] | None
) -> Match:
    """`written`: the labels of the column, each of which is a class; None: only those known are."""
    if label in exact:
        return Match(label, None)
    bare = label.strip()
    if bare in exact:
        return Match(bare, "spelling")
    number = whole_number(bare)
    if number in numbers:
        return Match(numbers[number], "spelling")
    if bare.casefold() in cases:
        return Match(cases[bare.casefold()], "spelling")
    if written is None:
        return Match(None, "unknown-label")
    name = number if number in written else bare  # "1.0" stays, except beside "1"
    return Match(name, "spelling" if name != label else None)


def _unique(names: Sequence[str], form: Callable[[str], str]) -> dict[str, str]:
    """`form(name)` -> name, for the forms that only one name has."""
    forms = [form(name) for name in names]
    shared = Counter(forms)
    return {form_of_name: name for form_of_name, name in zip(forms, names, strict=True) if shared[form_of_name] == 1}


NO_ANSWER = frozenset(
    {
        "abstain", "abstained", "abstention", "cannotsay", "cannottell", "cantsay", "canttell", "dk", "dontknow",
        "donotknow", "idk", "idontknow", "na", "nan", "noanswer", "noopinion", "noresponse", "none", "notapplicable",
        "notsure", "null", "pass", "skip", "skipped", "undecided", "unknown", "unsure",
    }
)  # fmt: skip


def means_no_answer(label: str) -> bool:
    """Whether a label is one of NO_ANSWER, ignoring case, spaces and signs, or consists of question marks only.

    >>> [means_no_answer(label) for label in ("Don't know", "N/A", "?", "none", "cat", "c++")]
    [True, True, True, True, False, False]
    """
    bare = re.sub(r"[\W_]+", "", label).casefold()
    return bare in NO_ANSWER or re.fullmatch(r"[\s?]*\?[\s?]*", label) is not None


def abstain_names(labels: str | Sequence[str] | None, classes: Sequence[str] | None) -> tuple[str, ...]:
    """The labels named as abstentions; none of them may be a class.

    >>> abstain_names(["NA", "don't know"], None)
    ('NA', "don't know")
    """
    if labels is None:
        return ()
    parts = labels.split(",") if isinstance(labels, str) else list(labels)
    names = tuple(dict.fromkeys(str(name).strip() for name in parts))
    if not all(names):
        rule = "labels that are not empty"
        raise invalid("abstain_labels", labels, rule, "leave the empty one out: a blank cell is an abstention anyway.")
    both = [name for name in names if name in (classes or ())]
    if both:
        raise invalid("abstain_labels", both[0], "a label that is not one of `classes`", "leave it out of one of them.")
    return names


def are_abstentions(labels: Sequence[str | None], named: Sequence[str]) -> list[bool]:
    """For each label, whether it is one of `named`; matched like classes.

    >>> are_abstentions(["na ", "cat", None], ["NA"])
    [True, False, False]
    """
    return [match.name is not None for match in match_labels(labels, tuple(named), given=True)]
