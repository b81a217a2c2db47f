"""`simulate`: a recorded stream under a method, votes revealed only when asked. The researcher's door to sweeps.

Our own methods run as one compiled call (`stream.py`); a method with a user's own policy runs through the session.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from quorate import compiled
from quorate.decision.belief import POSTERIORS, STOP_REASONS
from quorate.decision.model_picker import ModelPicker
from quorate.decision.policy import QueryPolicy
from quorate.decision.quota import QuotaPolicy
from quorate.decision.rules import Rule, rule_of
from quorate.errors import InvalidInput
from quorate.learning.problem import pack, unpack
from quorate.methods import Method, as_method
from quorate.posterior.settled import plurality_shares
from quorate.session import Session
from quorate.session.decide import NO_LIMIT
from quorate.streams.prepare import Stream, prepare
from quorate.streams.stream import BY_PICKER, BY_RATE, NO_QUOTA, SHORT, Inputs, Outputs, Plan, run_stream
from quorate.types import FloatArray, IntArray, PriorParams, VoteDataset
from quorate.validate import vote_limits, whole

WINDOW, REFIT_EVERY = 500, 20  # items that learning looks at; a fit after so many closed items
STOPS = STOP_REASONS | {SHORT: "closed"}
NUM_STOPS = 6  # ASK, SETTLED, EXHAUSTED, QUOTA, RULE, SHORT


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """What happened on each item (T,), in stream order, and what was learned on the way.

    `costs` votes asked   `predictions` class numbers answered   `consensus` the pool's plurality, ties broken by seed
    `errors` prediction != consensus   `expected_errors` the same, averaged over how ties could have been broken
    `confidence` the method's own   `reasons` why it stopped   `items` rows of the data set
    `trace` (item after which it was fitted, parameters), oldest first; `fits` (F, P) and `fitted_after` (F,) hold them
    as learning packs them, `tau_shape` is (K,) or (M, K)
    `probs` (T, K) who wins the pool, as believed at the stop; None unless they were asked for
    """

    method: Method
    items: IntArray
    costs: IntArray
    predictions: IntArray
    consensus: IntArray
    errors: np.ndarray
    expected_errors: FloatArray
    confidence: FloatArray
    reasons: tuple[str, ...]
    fits: FloatArray
    fitted_after: IntArray
    tau_shape: tuple[int, ...]
    probs: FloatArray | None = None

    @property
    def trace(self) -> tuple[tuple[int, PriorParams], ...]:
        """What was learned, and after which item."""
        pairs = zip(self.fitted_after, self.fits, strict=True)
        return tuple((int(after), unpack(packed, self.tau_shape)) for after, packed in pairs)

    def __repr__(self) -> str:
        """The run in a line."""
        return (
            f"Simulation({self.method.name}, {len(self.costs)} items: {self.mean_cost:.2f} votes per item, "
            f"{100 * self.error_rate:.2f} % wrong, {len(self.fits)} fits)"
        )

    @property
    def mean_cost(self) -> float:
        """Votes per item."""
        return float(self.costs.mean())

    @property
    def error_rate(self) -> float:
        """Share of wrong answers, expectation over ties."""
        return float(self.expected_errors.mean())


def simulate(
    dataset: VoteDataset,
    method: Method | str | QueryPolicy,
    *,
    pool_size: int | None = None,
    model: int | str = 0,
    seed: int,
    window: int | None = 500,
    refit_every: int = 20,
    order: str = "shuffled",
    min_votes: int = 0,
    max_votes: int | None = None,
    query_free_after: int | None = None,
) -> Simulation:
    """Run `method` over the whole data set, item by item, as if it were live.

    `pool_size` votes of each item are drawn by seed as its pool (None: all). `model`: a classifier's number or name,
    or "all" to fuse them. `query_free_after`: from this item on no expert is asked and nothing is learned.
    Cost: O(items) posteriors and items / refit_every fits of a window; the same seed gives the same answer.

    >>> from quorate.datasets import synthetic
    >>> data = synthetic(num_items=200, pool_size=7, accuracy=0.9, seed=1)
    >>> careful, everyone = (simulate(data, name, seed=1).mean_cost for name in ("quorate", "ask-all"))
    >>> careful < everyone == 7
    True
    """
    chosen = as_method(method)
    size = None if window is None else whole(window, where="window")
    every = whole(refit_every, where="refit_every")
    if not isinstance(model, (str, int, np.integer)):
        raise InvalidInput(f"model={model!r}; expected a classifier's number or name, or 'all'.")
    stream = prepare(dataset, pool_size, model, whole(seed, where="seed", least=0), order)
    stop_asking = len(stream.items)
    if query_free_after is not None:
        stop_asking = whole(query_free_after, where="query_free_after", least=0)
    most = NO_LIMIT if max_votes is None else whole(max_votes, where="max_votes", least=0)
    limits = (whole(min_votes, where="min_votes", least=0), most)
    vote_limits(*limits)
    rule = rule_of(chosen.policy)
    if rule is None:
        return through_session(dataset, stream, chosen, seed, size, every, limits, stop_asking)
    return run_compiled(stream, chosen, rule, size, every, limits, stop_asking)


def run_compiled(
    stream: Stream,
    method: Method,
    rule: Rule,
    window: int | None,
    refit_every: int,
    limits: tuple[int, int],
    stop_asking: int,
    *,
    recorded: IntArray | None = None,
    error_costs: FloatArray | None = None,
    keep_probs: bool = False,
) -> Simulation:
    """The stream in one compiled call; trusts its input.

    `recorded` (T,) votes there are of each item where its pool is larger: asking for one more ends in "closed".
    `error_costs` (K, K) by truth and answer: see `decision.error_costs`.
    """
    num_items, num_classifiers, num_classes = stream.log_predictions.shape
    learner, policy = method.learner, method.policy
    start, prior = method.initial_params(num_classes, num_classifiers), method.prior
    packed = pack(start)
    by_picker = BY_PICKER if isinstance(policy, ModelPicker) else NO_QUOTA
    quota_kind = BY_RATE if isinstance(policy, QuotaPolicy) else by_picker
    rates = policy.rates(stream.mean_predictions) if isinstance(policy, QuotaPolicy) else np.zeros(num_items)
    most_fits = num_items // refit_every + 1 if learner else 0
    inputs = Inputs(
        votes=stream.votes,
        pool_sizes=stream.pool_sizes,
        log_predictions=stream.log_predictions,
        mean_predictions=stream.mean_predictions,
        tie_draws=stream.tie_draws,
        quota_draws=stream.quota_draws,
        rates=rates,
        recorded=stream.pool_sizes if recorded is None else recorded,
        error_costs=np.zeros((0, 0)) if error_costs is None else error_costs,
    )
    plan = Plan(
        quota_kind=quota_kind,
        picker_scale=float(policy.scale) if isinstance(policy, ModelPicker) else 0.0,
        rule_kind=rule.kind,
        rule_first=float(rule.first),
        rule_second=float(rule.second),
        stops_when_settled=bool(getattr(policy, "stops_when_settled", True)),
        ask_posterior=POSTERIORS[method.asking.posterior],
        ask_learned=method.asking.learned,
        predict_posterior=POSTERIORS[method.predicting.posterior],
        predict_learned=method.predicting.learned,
        learns=learner is not None,
        shape=prior.shape,
        rate=prior.rate,
        bias_sd=prior.bias_sd,
        window=num_items if window is None else min(window, num_items),
        refit_every=refit_every,
        stop_asking=stop_asking,
        min_votes=limits[0],
        max_votes=limits[1],
    )
    outputs = Outputs(
        costs=np.zeros(num_items, dtype=np.int64),
        labels=np.zeros(num_items, dtype=np.int64),
        confidence=np.zeros(num_items),
        stops=np.zeros(num_items, dtype=np.int64),
        trace=np.zeros((most_fits, len(packed))),
        trace_at=np.zeros(most_fits, dtype=np.int64),
        probs=np.zeros((num_items if keep_probs else 0, num_classes)),
    )
    compiled.prepare_for(num_items, int(stream.pool_sizes.max(initial=0)))
    num_fits = run_stream(inputs, plan, packed, outputs)
    own = getattr(policy, "stop_reason", "rule")
    reasons = np.array([STOPS.get(code, own) for code in range(NUM_STOPS)])[outputs.stops]
    reasons[stop_asking:] = "closed"
    learned = outputs.trace[:num_fits], outputs.trace_at[:num_fits], start.tau.shape
    done = _result(stream, method, outputs.costs, outputs.labels, outputs.confidence, tuple(reasons.tolist()), learned)
    return replace(done, probs=outputs.probs) if keep_probs else done


def through_session(
    dataset: VoteDataset,
    stream: Stream,
    method: Method,
    seed: int,
    window: int | None,
    refit_every: int,
    limits: tuple[int, int],
    stop_asking: int,
) -> Simulation:
    """The same stream through a live `Session`, vote by vote: for a user's own policy, and to check the compiled."""
    session = Session(
        method,
        classes=dataset.classes,
        pool_size=int(stream.pool_sizes.max()),
        window=window,
        refit_every=refit_every,
        seed=seed,
        num_classifiers=stream.predictions.shape[1],
        min_votes=limits[0],
        max_votes=None if limits[1] == NO_LIMIT else limits[1],
    )
    decisions = []
    fits, fitted_after = [], []
    params = session.params
    for t in range(len(stream.items)):
        if t >= stop_asking:
            decisions.append(session.predict(stream.predictions[t], pool_size=int(stream.pool_sizes[t])))
            continue
        decision = session.open(str(t), stream.predictions[t], pool_size=int(stream.pool_sizes[t]))
        while decision.ask:
            decision = session.vote(str(t), dataset.classes[stream.votes[t, decision.num_votes]])
        decisions.append(decision)
        if session.params is not params:
            params = session.params
            fits.append(pack(params))
            fitted_after.append(t)
    return _result(
        stream,
        method,
        np.array([decision.num_votes for decision in decisions]),
        np.array([dataset.classes.index(decision.label) for decision in decisions]),
        np.array([decision.confidence for decision in decisions]),
        tuple(decision.reason for decision in decisions),
        (np.array(fits), np.array(fitted_after, dtype=np.int64), params.tau.shape),
    )


def expected_errors(stream: Stream, labels: IntArray) -> FloatArray:
    """(..., T) labels -> probability that each is wrong, over how the pool's ties could be broken."""
    shares = plurality_shares(stream.counts)  # (T, K)
    return np.asarray(1.0 - shares[np.arange(len(shares)), labels])


def _result(
    stream: Stream,
    method: Method,
    costs: IntArray,
    labels: IntArray,
    confidence: FloatArray,
    reasons: tuple[str, ...],
    learned: tuple[FloatArray, IntArray, tuple[int, ...]],
) -> Simulation:
    return Simulation(
        method=method,
        items=stream.items.copy(),  # the stream is shared by later runs
        costs=costs,
        predictions=labels,
        consensus=stream.consensus.copy(),
        errors=labels != stream.consensus,
        expected_errors=expected_errors(stream, labels),
        confidence=confidence,
        reasons=reasons,
        fits=learned[0],
        fitted_after=learned[1],
        tau_shape=learned[2],
    )
