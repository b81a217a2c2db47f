"""Scored items -> the columns of the Parquet or CSV file. Called by `score`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quorate.arrow import TEXT, pa
from quorate.frames import TEXTS, OwnTypes, in_own_type
from quorate.types import FloatArray, IntArray


def schema(classes: Sequence[str], own: OwnTypes = TEXTS) -> pa.Schema:
    """The columns of the output; `own`: the types of ids and labels in the caller's frames."""
    fixed = [
        ("item", own.task or TEXT), ("consensus_label", in_own_type(classes, own.label).type),
        ("confidence", pa.float64()), ("num_votes", pa.int64()), ("ask", pa.bool_()), ("reason", TEXT),
    ]  # fmt: skip
    return pa.schema([*fixed, *((f"prob_{name}", pa.float64()) for name in classes)])


def scored_table(
    ids: Sequence[str],
    votes: IntArray,
    probs: FloatArray,
    labels: IntArray,
    reasons: np.ndarray,
    classes: Sequence[str],
    own: OwnTypes = TEXTS,
) -> pa.Table:
    """A batch as an Arrow table with the columns of `schema`."""
    confidence = probs[np.arange(len(labels)), labels]
    columns = [
        in_own_type(ids, own.task),
        in_own_type(classes, own.label).take(pa.array(labels)),
        pa.array(confidence),
        pa.array(votes.sum(axis=1)),
        pa.array(reasons == "ask"),
        pa.array(reasons.tolist(), type=TEXT),
        *(pa.array(np.ascontiguousarray(probs[:, k])) for k in range(len(classes))),
    ]
    return pa.Table.from_arrays(columns, schema=schema(classes, own))
