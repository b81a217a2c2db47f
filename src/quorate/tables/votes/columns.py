"""Names of columns -> which is the item, the worker, the label and the time, by the names people use.

Called by the readers; a column can always be named outright, and then nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from quorate.errors import InvalidInput

# Who can vote; "user" comes last, since a table may also name the user who wrote the text.
PEOPLE = (
    "worker", "annotator", "rater", "labeler", "labeller", "voter", "expert", "judge", "coder", "reader", "reviewer",
    "performer", "contributor", "participant", "respondent", "grader", "scorer", "evaluator", "assessor", "examiner",
    "observer", "tagger", "marker", "panelist", "panellist", "volunteer", "crowdworker", "turker",
    "doctor", "physician", "clinician", "radiologist", "pathologist", "dermatologist", "cardiologist", "oncologist",
    "ophthalmologist", "neurologist", "surgeon", "nurse", "specialist", "technician",
)  # fmt: skip
# In order of preference; compared without case, spaces, dots, dashes and underscores.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "task": (
        "task", "task_id", "item", "item_id", "example", "example_id", "sample", "sample_id", "instance", "instance_id",
        "question", "question_id", "subject", "subject_id", "unit", "unit_id", "object", "object_id", "document",
        "document_id", "doc_id", "image", "image_id", "image_name", "img", "img_id", "photo", "photo_id", "picture",
        "picture_id", "video_id", "text_id", "sentence_id", "comment_id", "post_id", "tweet_id", "filename",
        "file_name", "file", "record_id", "hit_id", "pair_id", "case_id", "uid", "key", "id", "index", "Unnamed: 0",
    ),
    "item": (  # of tables with a row per item: a class may be called "image" or "object", so ids come first
        "task", "task_id", "item", "item_id", "id", "uid", "key", "example_id", "sample_id", "instance_id",
        "question_id", "subject_id", "unit_id", "object_id", "document_id", "doc_id", "image_id", "image_name",
        "img_id", "photo_id", "picture_id", "video_id", "text_id", "sentence_id", "comment_id", "post_id", "tweet_id",
        "record_id", "pair_id", "case_id",
        "filename", "file_name", "file", "index", "Unnamed: 0", "example", "sample", "instance", "question", "subject",
        "unit", "object", "document", "image", "img", "photo", "picture",
    ),
    "worker": (
        *(noun + ending for noun in PEOPLE for ending in ("", "_id", "_name", "_no", "_number", "_code", "_email")),
        *(f"{done}_by" for done in ("completed", "annotated", "labeled", "labelled", "rated", "coded", "judged", "read",
                                    "reviewed", "graded", "scored", "tagged", "voted", "answered", "submitted")),
        "user", "user_id", "user_name", "email",
    ),
    "label": (
        "label", "vote", "answer", "choice", "class", "category", "annotation", "response", "judgment", "judgement",
        "rating", "class_label", "label_name", "class_name", "value",
    ),
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


def squeezed(name: str) -> str:
    """A column's name without what people write differently.

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
) -> str | None:
    """The column of a role: the one named (by `argument`, else by the role), else the best-known synonym, else None.

    >>> find_column("worker", ["Item ID", "Annotator", "answer"])
    'Annotator'
    """
    if named is not None:
        if named not in columns:
            raise InvalidInput(
                f"{argument or role}={named!r} is not a column of {source}; expected one of {list(columns)[:30]}; name "
                f"one of them{advice}."
            )
        return named
    by_name = {squeezed(column): column for column in reversed(columns)}
    return next((by_name[squeezed(each)] for each in SYNONYMS[role] if squeezed(each) in by_name), None)


def is_nameless(column: str) -> bool:
    """Whether a header says nothing, as that of an index which pandas wrote without being asked.

    >>> is_nameless("Unnamed: 0"), is_nameless(" "), is_nameless("unnamed species")
    (True, True, False)
    """
    return re.fullmatch(r"\s*(unnamed(: ?\d+|_\d+)?)?\s*", column.removeprefix("\ufeff").casefold()) is not None


def label_like(columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that are called as labels are.

    >>> label_like(["Answer", "duration"])
    ('Answer',)
    """
    names = {squeezed(name) for name in SYNONYMS["label"]}
    return tuple(column for column in columns if squeezed(column) in names)


def refuse_own_output(columns: Sequence[str], source: str, *, expected: str) -> None:
    """Refuse what quorate itself wrote: decisions or scores are neither votes nor a classifier's predictions."""
    if "consensus_label" in columns and ("stop_reason" in columns or "reason" in columns):
        raise InvalidInput(
            f"{source} holds answers of quorate (consensus_label ...), not {expected}; expected {expected} as they "
            "were before; name that file. If the data are like that, pass as_read=True (--as-read)."
        )


def looks_like_worker(column: str) -> bool:
    """Whether a column is called after a worker, such as "annotator_2" or "rater B"; used to tell wide from counts.

    >>> looks_like_worker("annotator_2"), looks_like_worker("cat")
    (True, False)
    """
    names = {squeezed(name) for name in SYNONYMS["worker"]}
    stem = re.sub(r"([\s_.\-]*\d+|[\s_.\-]+[A-Za-z])$", "", column.strip())
    return squeezed(stem) in names or re.fullmatch(r"[rwau][\s_.\-]?\d+", column.strip().casefold()) is not None
