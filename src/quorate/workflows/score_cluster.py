"""Batches -> scored batches, in their order: computed here, or by the workers of a Dask cluster.

This process reads and writes; workers get numbers and give numbers back, with the same compiled functions, so the
output is the same. At most three batches per worker are under way, so memory stays that of a few batches.
Called by `score`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from quorate.compiled import sources_digest
from quorate.decision.batch import Packed, decide_batch_into
from quorate.decision.belief import ASK, EXHAUSTED, POSTERIORS, QUOTA, RULE, SETTLED, Belief
from quorate.decision.counting import AskAll, UntilSettled
from quorate.decision.rules import ALWAYS, Rule, rule_of
from quorate.errors import ClusterError, InvalidInput
from quorate.methods import Method
from quorate.session.decide import fixed_prior, prior_of
from quorate.types import FloatArray, IntArray, PriorParams
from quorate.validate import shown
from quorate.workflows.dask_cluster import connected, dask
from quorate.workflows.score_batches import ItemBatch

IN_FLIGHT = 3  # batches under way per worker


class Outcome(NamedTuple):
    """Of n items: who wins (n, K), the answer (n,), and why it asks or stops (n,), a code of `decision.belief`."""

    probs: FloatArray
    labels: IntArray
    codes: IntArray


@dataclass(frozen=True, slots=True)
class Scorer:
    """Everything but the items: the rule and the two beliefs, as the kernels take them."""

    rule: Rule
    stops_when_settled: bool
    asking: Packed
    predicting: Packed
    same_belief: bool
    stop_reason: str
    pool_size: int

    def reasons(self, codes: IntArray) -> np.ndarray:
        """Codes in words."""
        words = {ASK: "ask", SETTLED: "settled", EXHAUSTED: "exhausted", QUOTA: "quota", RULE: self.stop_reason}
        return np.array([words[code] for code in range(len(words))])[codes]


def scorer(method: Method, params: PriorParams, pool_size: int) -> Scorer:
    """The scorer of a method whose decision depends on the item alone; others are refused."""
    rule = rule_of(method.policy)
    if rule is None or (rule.kind == ALWAYS and not isinstance(method.policy, (AskAll, UntilSettled))):
        raise InvalidInput(
            f"method {method.name!r} draws how many votes an item gets, or decides in its own code; expected one whose "
            "decision depends on the item alone, such as quorate, finexp or infexp. Use quorate.Session for it."
        )

    def packed(belief: Belief) -> Packed:
        prior = prior_of(params, 0) if belief.learned else fixed_prior(params.num_classifiers, params.num_classes)
        return Packed(POSTERIORS[belief.posterior], prior.theta, prior.phi, prior.tau, prior.bias)

    return Scorer(
        rule=Rule(rule.kind, float(rule.first), float(rule.second)),
        stops_when_settled=bool(getattr(method.policy, "stops_when_settled", True)),
        asking=packed(method.asking),
        predicting=packed(method.predicting),
        same_belief=method.asking == method.predicting,
        stop_reason=str(getattr(method.policy, "stop_reason", "rule")),
        pool_size=pool_size,
    )


def score_arrays(scorer: Scorer, predictions: FloatArray, votes: IntArray) -> Outcome:
    """predictions (n, M, K), floored; votes (n, K) -> who wins each pool, the answer, ask or stop."""
    # Copies: kernels are compiled anew for arrays that cannot be written to, as those are that come over a wire.
    probs_in, counts = np.array(predictions, order="C"), np.array(votes, order="C")
    num_items, _, num_classes = probs_in.shape
    out = Outcome(
        np.empty((num_items, num_classes)), np.empty(num_items, dtype=np.int64), np.empty(num_items, dtype=np.int64)
    )
    decide_batch_into(
        *scorer.rule,
        scorer.stops_when_settled,
        _writable(scorer.asking),
        _writable(scorer.predicting),
        scorer.same_belief,
        np.log(probs_in),
        np.ascontiguousarray(probs_in.mean(axis=1)),
        counts,
        np.full(num_items, scorer.pool_size),
        *out,
    )
    return out


def _writable(belief: Packed) -> Packed:
    return belief._replace(tau=np.array(belief.tau), bias=np.array(belief.bias))


Scored = Callable[[Iterable[ItemBatch]], Iterator[tuple[ItemBatch, Outcome]]]


@contextmanager
def scored_by(scorer: Scorer, cluster: str | None) -> Iterator[Scored]:
    """A function that scores batches in their order, here (`cluster` None) or on the workers of a cluster."""
    if cluster is None:
        yield lambda batches: ((batch, score_arrays(scorer, batch.predictions, batch.votes)) for batch in batches)
        return

    def prepare() -> None:
        num_models, num_classes = scorer.predicting.tau.shape
        score_arrays(scorer, np.full((1, num_models, num_classes), 1 / num_classes), np.zeros((1, num_classes), int))

    with connected(cluster, kind=_kind, prepare=prepare) as client:
        yield lambda batches: _on_dask(client, cluster, scorer, batches)


def _kind() -> dict[str, str]:
    """What must be alike on two machines for their results to be."""
    return {"code": sources_digest()} | {name: version(name) for name in ("numpy", "numba", "scipy")}


def _on_dask(
    client: Any,  # noqa: ANN401
    address: str,
    scorer: Scorer,
    batches: Iterable[ItemBatch],
) -> Iterator[tuple[ItemBatch, Outcome]]:
    waiting: deque[tuple[ItemBatch, Any]] = deque()
    most = IN_FLIGHT * max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
    try:
        for batch in batches:
            job = client.submit(score_arrays, scorer, batch.predictions, batch.votes, pure=False)
            waiting.append((batch, job))
            if len(waiting) >= most:
                yield _first(waiting)
        while waiting:
            yield _first(waiting)
    except dask().KilledWorker as cause:
        raise ClusterError(
            f"cluster={shown(address)}: several workers died at the same batch, perhaps for want of memory. "
            "Lower batch_rows (--batch-rows) and run it again."
        ) from cause
    except (dask().CancelledError, OSError) as cause:
        if client.status == "running" and not isinstance(cause, dask().CancelledError):
            raise
        raise ClusterError(f"cluster={shown(address)}: the scheduler went away. Run it again.") from cause


def _first(waiting: deque[tuple[ItemBatch, Any]]) -> tuple[ItemBatch, Outcome]:
    batch, job = waiting.popleft()
    return batch, job.result()
