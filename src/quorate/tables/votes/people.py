"""Detects which columns are people: leaves out or refuses columns that summarise the votes; finds unread people.

A summary is recognised by its name (`gold`, `majority_label`, `old_label`) or by its content: it can be computed from
the other columns. A name that only contains such a word may be a person's (`Dr Gold`): it is left out if the content
agrees, and refused otherwise. In a long table without a worker column, an unread column that looks like people is
reported; with a worker column that does not fit, it is refused. Called by `formats` if the caller did not name columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from quorate.tables.readers import pa
from quorate.tables.readers.sources import as_numbers
from quorate.tables.votes.codes import Coded, encode, merge
from quorate.tables.votes.names import SYNONYMS, looks_like_worker, squeezed, whole_number
from quorate.validate import invalid

ANSWER_KEYS = frozenset(
    {
        "gold", "goldlabel", "goldstandard", "truth", "groundtruth", "truelabel", "trueclass", "correct",
        "correctlabel", "correctanswer", "consensus", "majority", "majorityvote", "finallabel", "answerkey", "target",
        "final", "finalanswer", "finalclass", "reference", "referencelabel", "reflabel", "oldlabel", "oldlabels",
        "originallabel", "previouslabel", "resolved", "resolvedlabel", "total", "labelcount", "votecount", "numvotes",
        "numlabels", "numannotators", "numraters", "nvotes", "nlabels", "nannotators", "nraters", "golden",
        "goldenlabel", "goldlabels", "goldanswer", "goldclass", "groundtruthlabel", "majoritylabel", "majorityclass",
        "majorityanswer", "plurality", "pluralitylabel", "consensuslabel", "unanimous", "adjudicated",
        "adjudicatedlabel", "adjudication", "aggregate", "aggregated", "aggregatelabel", "aggregatedlabel", "entropy",
        "agreement", "kappa", "distribution", "dist", "labeldist", "labeldistribution", "counter", "labelcounter",
        "counts", "labelcounts", "votecounts",
    }
)  # fmt: skip
_SUMMING_UP = frozenset(
    {
        "gold", "golden", "groundtruth", "majority", "plurality", "consensus", "unanimous", "adjudicated",
        "adjudication", "aggregate", "aggregated", "entropy", "agreement", "kappa", "distribution", "dist",
        "counter", "counts",
    }
)  # fmt: skip
FEWEST = 10  # with fewer rows no conclusion is drawn from the content
FEWEST_DISPUTED = 20  # rows on which the others differ, needed to call a column computed from numbers
NEARLY_ALL = 0.98
CHANCE = 0.001  # at most, that some person equals the plurality of the others on all these rows
MOST_ROWS, MOST_LABELS = 5000, 100


def sums_up(column: str) -> bool:
    """Whether a column has one of the usual names of the truth or of a summary of the votes.

    >>> [sums_up(name) for name in ("Ground Truth", "majority_label", "labelCount", "entropy", "ann", "Dr Gold")]
    [True, True, True, True, False, False]
    """
    return squeezed(column) in ANSWER_KEYS


def may_sum_up(column: str) -> bool:
    """Whether a column has such a name, or one with such a word in it.

    >>> [may_sum_up(name) for name in ("gold", "Dr Gold", "reader_gold", "golda")]
    [True, True, True, False]
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column)
    parts = {part.casefold() for part in re.split(r"[\s_.\-]+", words)}
    return sums_up(column) or bool(parts & _SUMMING_UP)


def only_people(table: pa.Table, source: str, columns: Sequence[str]) -> list[str]:
    """Annotators' columns without summaries by both name and content; refuses summaries by only one of them."""
    named = [name for name in columns if may_sum_up(name)]
    computed = _computed_columns(table, columns) if named else []
    doubtful = [name for name in named if name not in computed]
    if doubtful:
        raise _refused(source, doubtful, columns, worker=True)
    people = [name for name in columns if name not in named]
    found = _computed_columns(table, people)
    if found:
        raise _refused(source, found, people, worker=True)
    return people


def _computed_columns(table: pa.Table, columns: Sequence[str]) -> list[str]:
    """The columns that can be computed from the others: their plurality, number, mean ..."""
    if len(columns) < 3 or table.num_rows < FEWEST:
        return []
    table = table.slice(0, MOST_ROWS)
    cells = merge([encode(table[name]) for name in columns])
    texts = [whole_number(text.strip()) for text in cells.names.to_pylist()]
    labels = sorted({text for text in texts if text})
    if not 2 <= len(labels) <= MOST_LABELS:
        return []
    number = {text: place for place, text in enumerate(labels)}
    code_of = np.array([number.get(text, -1) for text in texts] + [-1])
    codes = code_of[cells.codes].reshape(len(columns), -1).T  # (rows, columns)
    return [name for name, what in zip(columns, _computed(codes, labels), strict=True) if what]


def refuse_summed_counts(table: pa.Table, source: str, columns: Sequence[str]) -> None:
    """Refuse columns of counts that are the sum of the others, or are named like a summary of the votes."""
    numbers = np.column_stack([as_numbers(table[name], blank=0.0).values for name in columns])
    found = [name for name in columns if may_sum_up(name)]
    if len(columns) >= 3 and len(numbers) >= 3:
        rest = numbers.sum(axis=1, keepdims=True) - numbers
        is_sum = (numbers == rest).mean(axis=0) >= NEARLY_ALL
        sure = len(numbers) >= FEWEST
        totals = {"all", "sum", "total", "n", "count", "votes", "num"}
        found += [
            name
            for name, hit in zip(columns, is_sum, strict=True)
            if hit and name not in found and (sure or squeezed(name) in totals)
        ]
    if found and len(columns) > 2:
        raise _refused(source, found, columns, worker=False)


def summary_columns(table: pa.Table, columns: Sequence[str]) -> list[str]:
    """Columns that are not counts and are named like a summary of the votes, such as `majority_label`."""
    named = [name for name in columns if may_sum_up(name)]
    cells = {name: as_numbers(table[name], blank=np.nan).values for name in named}
    return [name for name, each in cells.items() if not np.all((each >= 0) & (each == np.floor(each)))]


def _refused(source: str, found: Sequence[str], columns: Sequence[str], *, worker: bool) -> Exception:
    rest = [name for name in columns if name not in found]
    listed = ",".join(rest[:30]) + (",..." if len(rest) > 30 else "")
    ignored = ",".join(found)
    if worker:
        rule = "one person's votes in each column, not what can be computed from the other columns"
        fix = f"pass `ignore_columns={ignored!r}`; if they are people, list them all: `worker='{listed},{ignored}'`."
    else:
        rule = "the votes for one class in each column, not a summary of the other columns"
        fix = f"pass `ignore_columns={ignored!r}`; if they are classes, list them all: `classes='{listed},{ignored}'`."
    return invalid("columns", list(found), rule, fix, place=source)


def _computed(codes: np.ndarray, labels: Sequence[str]) -> list[str | None]:
    """For each column, which statistic of the others it is, or None; `codes` (rows, columns), -1 for a blank cell."""
    every = np.zeros((len(codes), len(labels)), dtype=np.int64)
    row, column = np.nonzero(codes >= 0)
    np.add.at(every, (row, codes[row, column]), 1)
    values = _values(labels)
    columns = range(codes.shape[1])
    hits = [_plurality_hits(codes, k, _others(every, codes[:, k])) for k in columns]
    most = max(hits)[0]  # with a majority of three, each of the three also matches, on fewer rows
    chosen = [hit == most and chance * len(hits) < CHANCE for hit, chance in hits]
    return ["plurality" if chosen[k] else _number_of(codes[:, k], _others(every, codes[:, k]), values) for k in columns]


def _plurality_hits(codes: np.ndarray, k: int, others: np.ndarray) -> tuple[int, float]:
    """On how many disputed rows a column equals the plurality of the others, and how likely that is for a person.

    Returns 0 and 1.0 if it differs on any row. The person is assumed to err half as often as the others on these rows.
    """
    own = codes[:, k]
    clear, top = _plurality(own, others)
    at = clear & (others.max(axis=1) < others.sum(axis=1))
    hits = int(at.sum())
    if hits < FEWEST or (own != top)[clear].any():
        return 0, 1.0
    rest = np.delete(codes[at], k, axis=1)
    usual = float((rest == top[at, None]).sum() / (rest >= 0).sum())
    return hits, (1 - (1 - usual) / 2) ** hits


def _others(every: np.ndarray, own: np.ndarray) -> np.ndarray:
    """The counts without the votes of one column."""
    rest = every.copy()
    at = np.flatnonzero(own >= 0)
    rest[at, own[at]] -= 1
    return rest


def _plurality(own: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows in which a column is filled and the others have a unique plurality, and the plurality of each row."""
    ranked = np.sort(others, axis=1)
    return (own >= 0) & (ranked[:, -1] > ranked[:, -2]), others.argmax(axis=1)


def _number_of(own: np.ndarray, others: np.ndarray, values: np.ndarray) -> str | None:
    """Which number computed from the others a column holds on disputed rows; None if labels are not numbers."""
    total = others.sum(axis=1)
    held = np.where(own >= 0, values[own], np.nan)
    at = np.flatnonzero(np.isfinite(held) & (total >= 2) & ((others > 0).sum(axis=1) > 1))
    if len(at) < FEWEST_DISPUTED:
        return None
    counts, held, total = others[at], held[at], total[at]
    share = counts / total[:, None]
    numbers = {"number of votes": total, "largest count": counts.max(axis=1), "labels used": (counts > 0).sum(axis=1)}
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.nansum(np.where(share > 0, share * np.log(share), 0), axis=1)
    numbers |= {"agreement": share.max(axis=1), "entropy": entropy, "entropy in bits": entropy / np.log(2)}
    if np.isfinite(values).all():
        mean = share @ values
        numbers |= {"sum": counts @ values, "mean": mean, "rounded mean": np.round(mean)}
    if "rounded mean" in numbers and _usual_mean(counts, values, numbers["rounded mean"]):
        del numbers["rounded mean"]
    for what, expected in numbers.items():
        if np.mean(np.abs(held - expected) <= 0.005) >= NEARLY_ALL and len(np.unique(held)) > 1:
            return what
    return None


def _usual_mean(counts: np.ndarray, values: np.ndarray, mean: np.ndarray) -> bool:
    """Whether the rounded mean is the plurality in nearly all rows, as for labels 0 and 1."""
    clear, top = _plurality(np.zeros(len(counts)), counts)
    return int((~clear | (values[top] != mean)).sum()) < FEWEST_DISPUTED


def _values(labels: Sequence[str]) -> np.ndarray:
    found = []
    for label in labels:
        try:
            found.append(float(label))
        except ValueError:
            found.append(np.nan)
    return np.array(found)


MOST_AGAIN = 0.1  # share of the rows in which a person votes again on an item
_OF_PEOPLE = re.compile(r"(id|ids|by|name|nr|no|code|initials)$")


def unread_people(table: pa.Table, item: str, unread: Sequence[str]) -> list[str]:
    """The unread columns that look like the people who voted, the likeliest first.

    Their values do not repeat within an item, but do across items. Numeric columns must also be named like ids, because
    a duration or the position of a vote has such values too.
    """
    tasks = encode(table[item])
    if table.num_rows < FEWEST or not _repeats(tasks.codes).any():
        return []
    others = {squeezed(name) for role in ("timestamp", "label", "score") for name in SYNONYMS[role]}
    found = [name for name in unread if squeezed(name) not in others and _are_people(table[name], name, tasks)]
    return sorted(found, key=lambda name: (not looks_like_worker(name), _OF_PEOPLE.search(squeezed(name)) is None))


def refuse_wrong_people(
    table: pa.Table, source: str, item: str, worker: str, label: str, unread: Sequence[str]
) -> None:
    """Refuse a worker column, found by its name, if people repeat votes by it and another column fits better, or if
    a column says what each of these votes is about."""
    tasks, people = encode(table[item]), encode(table[worker])
    named = (tasks.codes >= 0) & (people.codes >= 0)
    again = int(_repeats(_pairs(tasks, people)[named]).sum())
    if again < FEWEST or again <= MOST_AGAIN * named.sum():
        return
    fitting = unread_people(table, item, unread)
    if fitting:
        rule = (
            f"one vote of each person on an item of {source}; with this column {again} of {int(named.sum())} votes "
            f"are a person's second or later one, with {fitting[0]!r} none is"
        )
        fix = f"name the column of the people: `worker={fitting[0]!r}`; if people did vote again, `worker={worker!r}`."
        raise invalid("worker", worker, rule, fix)
    pairs = _pairs(tasks, people)
    told = [name for name in unread if _tells_apart(table[name], pairs, named)]
    if told or _answers_every_label(table[label], pairs, named):
        about = told[0] if told else label
        rule = (
            f"one vote of each person on an item, but {again} of {int(named.sum())} votes are a person's second or "
            f"later one, and each is about another {about!r}"
        )
        fix = (
            f"make a column of each {about!r} (pandas: frame.pivot(index=[{item!r}, {worker!r}], columns={about!r}, "
            f"values=...)) and run each of them, `label=...`; if people did vote again, `worker={worker!r}`."
        )
        raise invalid("votes", source, rule, fix)


def _tells_apart(column: pa.ChunkedArray, pairs: np.ndarray, named: np.ndarray) -> bool:
    """Whether a column of a few words never repeats within a person's votes on an item: each is about another one."""
    about = encode(column)
    if not 2 <= len(about.names) <= min(MOST_LABELS, len(pairs) / 4) or (about.codes[named] < 0).any():
        return False
    if all(text.strip()[:1].isdigit() for text in about.names.to_pylist()):  # rounds, days: votes that changed
        return False
    return bool(_repeats(pairs[named] * len(about.names) + about.codes[named]).mean() <= 1 - NEARLY_ALL)


def _answers_every_label(column: pa.ChunkedArray, pairs: np.ndarray, named: np.ndarray) -> bool:
    """Whether nearly every person has every label on every item: then they say what a row is about, not an answer."""
    whole_product = len(np.unique(pairs[named])) * len(encode(column).names)
    return _tells_apart(column, pairs, named) and int(named.sum()) >= NEARLY_ALL * whole_product


def _are_people(column: pa.ChunkedArray, name: str, tasks: Coded) -> bool:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_nested(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return False
    people = encode(column)
    filled = (people.codes >= 0) & (tasks.codes >= 0)
    texts = people.names.to_pylist()
    blank = np.array([not text.strip() for text in texts] + [True])
    filled &= ~blank[people.codes]
    if filled.mean() < 0.9:
        return False
    numbers = all(re.fullmatch(r"[-+]?\d+(\.\d*)?", text.strip()) for text in texts if text.strip())
    if numbers and not (_OF_PEOPLE.search(squeezed(name)) or looks_like_worker(name)):
        return False
    count, different = int(filled.sum()), len(np.unique(people.codes[filled]))
    once = ~_repeats(_pairs(tasks, people)[filled])
    return 2 <= different <= count / 2 and float(once.mean()) >= NEARLY_ALL


def _pairs(tasks: Coded, people: Coded) -> np.ndarray:
    return tasks.codes.astype(np.int64) * (len(people.names) + 1) + people.codes


def _repeats(values: np.ndarray) -> np.ndarray:
    """Which values occurred before."""
    again = np.ones(len(values), dtype=bool)
    again[np.unique(values, return_index=True)[1]] = False
    return again
