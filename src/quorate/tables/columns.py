"""Names of columns -> their roles: item, worker, label, time, prediction. A column that the caller names is taken."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from quorate.validate import invalid

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
        "document_id", "doc", "doc_id", "image", "image_id", "image_name", "img", "img_id", "photo", "photo_id",
        "picture", "picture_id", "video_id", "text_id", "sentence_id", "comment_id", "post_id", "tweet_id",
        "message_id", "review_id", "ticket_id", "report_id", "filename", "file_name", "file", "record_id", "hit_id",
        "pair_id",
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
    return name in SUMMARIES or _label_of_outcome().fullmatch(name) is not None


@cache
def _label_of_outcome() -> re.Pattern[str]:
    labels = "|".join(squeezed(name) for name in (*SYNONYMS["label"], *SYNONYMS["prediction"]))
    return re.compile(f"({'|'.join(sorted(SUMMARIES))}|{_OUTCOMES})({labels})s?")


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
