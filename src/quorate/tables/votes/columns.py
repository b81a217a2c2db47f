"""Names of columns -> which is the item, the worker, the label and the time, by the names people use.

Called by the readers; a column can always be named outright, and then nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from quorate.validate import broken

# Who can vote; "user" comes last, since a table may also name the user who wrote the text.
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
    "item": (  # of tables with a row per item: a class may be called "image" or "object", so ids come first
        "task", "task_id", "item", "item_id", "id", "uid", "key", "example_id", "sample_id", "instance_id",
        "question_id", "subject_id", "unit_id", "object_id", "document_id", "doc_id", "image_id", "image_name",
        "img_id", "photo_id", "picture_id", "video_id", "text_id", "sentence_id", "comment_id", "post_id", "tweet_id",
        "message_id", "review_id", "ticket_id", "report_id", "record_id", "pair_id", *_OF_PATIENTS,
        "filename", "file_name", "file", "index", "Unnamed: 0", "example", "sample", "instance", "question", "subject",
        "unit", "object", "document", "image", "img", "photo", "picture", "case", "lesion", "slide", "scan", "exam",
        "study", "patient_id", "patient",
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
    "perhaps label": (  # also called so: an item's final answer beside a column per person; see `find_label`
        "finding", "findings", "diagnosis", "dx", "read", "reading", "verdict", "opinion", "assessment", "impression",
        "grade", "decision",
    ),
    "truth": (
        "truth", "gold", "gold_label", "true_label", "true_class", "ground_truth", "reference", "correct", "label",
        "class", "answer", "diagnosis",
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


GO_ON = "if the data are like that, pass `as_read=True`."  # ends the fix of every check of a misreading


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
    tried: str | None = None,
) -> str | None:
    """The column of a role: the one named (by `argument`, else by the role), else the best-known synonym, else None.

    `tried`: a column that goes before the synonyms, if it is there.

    >>> find_column("worker", ["Item ID", "Annotator", "answer"])
    'Annotator'
    """
    if named is not None:
        if named not in columns:
            rule = f"a column of {source}, which has {list(columns)[:30]}"
            raise broken(argument or role, named, rule, f"name one of them{advice}.")
        return named
    if tried in columns:
        return tried
    by_name = {squeezed(column): column for column in reversed(columns)}
    return next((by_name[squeezed(each)] for each in SYNONYMS[role] if squeezed(each) in by_name), None)


def find_label(columns: Sequence[str], *, is_per_vote: Callable[[], bool]) -> str | None:
    """The column of the label by its usual names.

    Names such as "diagnosis" are taken only if each row is a vote: a worker stands beside them, or `is_per_vote()`.
    Beside a column per person they are the final answer.

    >>> find_label(["reader", "diagnosis"], is_per_vote=lambda: False)
    'diagnosis'
    >>> find_label(["reader_1", "reader_2", "diagnosis"], is_per_vote=lambda: False) is None
    True
    """
    found = find_column("label", columns)
    if found is not None:
        return found
    perhaps = find_column("perhaps label", columns)
    if perhaps is None or find_column("worker", columns) is not None or is_per_vote():
        return perhaps
    return None


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
        rule = f"{expected}, but {source} holds answers of quorate (consensus_label ...)"
        raise broken("source", source, rule, f"name the file of the {expected}; {GO_ON}")


def looks_like_worker(column: str) -> bool:
    """Whether a column is called after a worker, such as "annotator_2" or "rater B"; used to tell wide from counts.

    >>> looks_like_worker("annotator_2"), looks_like_worker("cat")
    (True, False)
    """
    names = {squeezed(name) for name in SYNONYMS["worker"]}
    stem = re.sub(r"([\s_.\-]*\d+|[\s_.\-]+[A-Za-z])$", "", column.strip())
    return squeezed(stem) in names or re.fullmatch(r"[rwau][\s_.\-]?\d+", column.strip().casefold()) is not None
