"""Runs jobs: one (`run_job`), or many through the store (`sweep`), on threads or another backend.

Stored jobs are not repeated, results are stored at once, progress is counted. What all parameter values of a job share
is computed once: the stream, and, without learning, the confidence after every vote, which does not depend on the
threshold. Answers without votes need no posterior, except for their confidence, which is computed for the first ones.
`run_job` needs no file, so it can run on another machine.
"""

from __future__ import annotations

import math
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

import numpy as np

from quorate.errors import QuorateError
from quorate.methods import Method, method, with_learning
from quorate.model import POSTERIORS, AskAll, Threshold, concentration
from quorate.rng import stream as random_stream
from quorate.streams import (
    CompiledRun,
    FixedPaths,
    Stream,
    StreamOptions,
    StreamRun,
    expected_errors,
    fixed_paths,
    prepare,
    start_run,
)
from quorate.types import FloatArray, IntArray, Progress, VoteDataset
from quorate.validate import invalid, whole
from quorate_paper import as_published
from quorate_paper.jobs import Job, JobOutcome, Parameters
from quorate_paper.released import paper_method
from quorate_paper.settings import INFEXP
from quorate_paper.store import RunStore

Backend = Callable[[Sequence[Job], Mapping[str, VoteDataset]], Iterator[JobOutcome]]
Result = TypeVar("Result")
Call = tuple[str, Callable[[], Result]]  # with a name
Finished = tuple[int, Result] | BaseException
_LOOK_EVERY = 0.2  # seconds: some systems deliver Ctrl-C only between two waits


def on_threads(num_threads: int) -> Backend:
    """A backend that runs jobs on this machine, `num_threads` at a time; yields outcomes as they finish."""
    many = whole(num_threads, where="num_threads")

    def run(jobs: Sequence[Job], datasets: Mapping[str, VoteDataset]) -> Iterator[JobOutcome]:
        for _, outcome in spread([(job.label, partial(run_job, job, datasets[job.data])) for job in jobs], many):
            yield outcome

    return run


def spread(calls: Sequence[Call[Result]], num_threads: int) -> Iterator[tuple[int, Result]]:
    """Run named calls on threads, `num_threads` at a time; yields the place and result of each as they finish.

    Uses daemon threads: after Ctrl-C the process ends at once, without waiting for running calls.

    >>> sorted(spread([("one", lambda: 1), ("two", lambda: 2)], 2))
    [(0, 1), (1, 2)]
    """
    todo, finished, stop = deque(enumerate(calls)), SimpleQueue[Finished[Result]](), threading.Event()
    for _ in range(min(num_threads, len(calls))):
        threading.Thread(target=_work, args=(todo, finished, stop), daemon=True).start()
    try:
        for _ in calls:
            found = _next(finished)
            if isinstance(found, BaseException):
                raise found
            yield found
    finally:
        stop.set()


def _work(
    todo: deque[tuple[int, Call[Result]]], finished: SimpleQueue[Finished[Result]], stop: threading.Event
) -> None:
    """One thread: make calls until none is left, one fails, or the caller has stopped."""
    while not stop.is_set():
        try:
            place, (label, call) = todo.popleft()
        except IndexError:
            return
        try:
            finished.put((place, call()))
        except BaseException as problem:  # raised again in the caller's thread
            problem.add_note(f"while running {label}")
            finished.put(problem)
            return


def _next(finished: SimpleQueue[Finished[Result]]) -> Finished[Result]:
    while True:
        try:
            return finished.get(timeout=_LOOK_EVERY)
        except Empty:
            continue


def sweep(
    jobs: Iterable[Job],
    datasets: Mapping[str, VoteDataset],
    store: RunStore,
    *,
    backend: Backend,
    progress: Progress | None = None,
) -> dict[Job, JobOutcome]:
    """The outcome of every job, in the order given; only jobs that are not stored are run.

    `progress(done, total, what)` counts expected work, not jobs, and only work that was not stored, so that the
    remaining time can be estimated from it.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from quorate.datasets import synthetic
    >>> from quorate_paper.jobs import settings
    >>> data = {"toy": synthetic(num_items=50, pool_size=5, seed=1)}
    >>> jobs = [Job("toy", 5, "model-0", seed, "random", settings("query_rate", (0.0, 1.0))) for seed in (3, 4)]
    >>> with TemporaryDirectory() as folder:
    ...     found = sweep(jobs, data, RunStore(Path(folder), {"toy": "its checksum"}), backend=on_threads(1))
    >>> [float(found[job].mean_costs[0]) for job in jobs]
    [0.0, 0.0]
    """
    wanted = list(dict.fromkeys(jobs))
    _check(wanted, datasets)
    store.tidy()
    found = {job: store.get(job) for job in wanted}
    missing = _longest_first(job for job, outcome in found.items() if outcome is None)
    total = sum(_work_of(job, datasets) for job in missing)
    done = 0
    outcomes = backend(missing, datasets) if missing else iter(())
    try:
        for outcome in outcomes:
            store.put(outcome)
            store.note_seconds(outcome.job, outcome.seconds)
            found[outcome.job] = outcome
            done += _work_of(outcome.job, datasets)
            if progress is not None:
                progress(done, total, outcome.job.label)
    finally:  # after Ctrl-C or on a full disk no more jobs start
        getattr(outcomes, "close", lambda: None)()
    known = {job: outcome for job, outcome in found.items() if outcome is not None}
    if len(known) < len(found):
        raise QuorateError(f"{len(found) - len(known)} of {len(missing)} jobs did not finish; run it again.")
    return known


def _check(jobs: Sequence[Job], datasets: Mapping[str, VoteDataset]) -> None:
    for name in dict.fromkeys(job.data for job in jobs):
        if name not in datasets:
            raise invalid("data", name, f"one of the loaded data sets: {sorted(datasets)}", "load it first.")


def _work_of(job: Job, datasets: Mapping[str, VoteDataset]) -> int:
    return job.weight * datasets[job.data].num_items


def _longest_first(jobs: Iterable[Job]) -> list[Job]:
    """Large pools first, so that no long job runs alone at the end; the jobs of a stream stay together."""
    return sorted(jobs, key=lambda job: (job.variant == "exact", -job.pool_size, _stream(job), -job.weight, job.method))


def _stream(job: Job) -> tuple[str, str, int]:
    return job.data, job.model, job.seed


SAMPLED = 0.02  # share of the answers without votes whose confidence is computed
FIXED = {"fixed-finexp": "finite", "fixed-infexp": "infinite"}
PUBLISHED = ("finexp", "fixed-finexp", "infexp")  # the methods with a published variant


class Run(NamedTuple):
    """One parameter setting on the stream, item by item; a confidence that was not computed is NaN."""

    costs: IntArray
    labels: IntArray
    confidence: FloatArray
    params: FloatArray


def run_job(job: Job, dataset: VoteDataset) -> JobOutcome:
    """The job's outcome; the same in every thread and process, and on every machine with the same versions.

    >>> from quorate.datasets import synthetic
    >>> from quorate_paper.jobs import settings
    >>> data = synthetic(num_items=100, pool_size=5, seed=1)
    >>> job = Job("toy", 5, "model-0", 3, "random", settings("query_rate", (0.0, 1.0)))
    >>> run_job(job, data).costs.ravel()[0]
    np.float64(0.0)
    """
    started = time.thread_time()  # time of this thread only
    stream = prepare(dataset, job.pool_size, job.model, job.seed, "shuffled")  # the arguments of `simulate`: cached
    phases = _phases(job, stream)
    runs = _runs(job, stream)
    labels = np.array([run.labels for run in runs])  # (Q, T)
    costs = np.array([run.costs for run in runs])
    confidence = np.array([run.confidence for run in runs])
    errors = expected_errors(stream, labels)
    kept = slice(None) if job.keep_items else slice(0)
    return JobOutcome(
        job=job,
        sizes=np.unique(phases, return_counts=True)[1],
        costs=_by_phase(np.mean, costs, phases),
        errors=_by_phase(np.mean, errors, phases),
        drawn_errors=_by_phase(np.mean, labels != stream.consensus, phases),
        confidence=_by_phase(np.nanmean, confidence, phases),
        params=_rows([run.params for run in runs]),
        item_costs=costs[:, kept].astype(np.int32),
        item_errors=errors[:, kept].astype(np.float32),
        seconds=time.thread_time() - started,
    )


def _phases(job: Job, stream: Stream) -> IntArray:
    """(T,) the phase each item is in."""
    if job.query_free_after is None:
        return stream.blocks
    num_items = len(stream.items)
    if not 0 < job.query_free_after < num_items:
        rule = f"a number from 1 to {num_items - 1}: the stream has {num_items} items, and both phases need some"
        raise invalid("query_free_after", job.query_free_after, rule, "choose an earlier item, or None for one phase.")
    return (np.arange(num_items) >= job.query_free_after).astype(np.int64)


def _by_phase(mean: Callable[..., FloatArray], values: np.ndarray, phases: IntArray) -> FloatArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the published variants have no confidence
        return np.stack([mean(values[:, phases == phase], axis=1) for phase in np.unique(phases)], axis=1)


def _rows(params: list[FloatArray]) -> FloatArray:
    """(Q, P); a row of NaN for a run without votes, which learns nothing."""
    rows = np.full((len(params), max(len(row) for row in params)), np.nan)
    for row, values in zip(rows, params, strict=True):
        row[: len(values)] = values
    return rows


def _runs(job: Job, stream: Stream) -> list[Run]:
    if job.variant != "exact":
        _check_published(job)
        return [_published(job, stream, parameters) for parameters in job.parameters]
    if job.method in FIXED and job.query_free_after is None:
        thresholds = [float(_method(job, parameters).parameters["threshold"]) for parameters in job.parameters]
        paths = _paths(stream, FIXED[job.method], thresholds)
        return [Run(*paths.at(threshold), np.zeros(0)) for threshold in thresholds]
    if job.query_free_after is not None and paper_method(job.method).predicting.learned:
        return _query_free_runs(job, stream, job.query_free_after)
    return [_simulated(job, stream, parameters) for parameters in job.parameters]


def _method(job: Job, parameters: Parameters) -> Method:
    """The job's method under one setting, with the job's window and schedule."""
    chosen = paper_method(job.method, **dict(parameters))
    return with_learning(chosen, window=job.window, refit_every=job.refit_every)


def _query_free_runs(job: Job, stream: Stream, asked: int) -> list[Run]:
    """Runs with a query-free phase, whose answers are the classes of the largest alpha: the most probable winners."""
    return [_query_free_run(job, *pair, asked) for pair in _methods_and_streams(job, stream, asked)]


def _methods_and_streams(job: Job, stream: Stream, asked: int) -> list[tuple[Method, Stream]]:
    """The job's methods, and the streams they run on.

    Who asks with a fixed prior asks the same votes whatever is learned. These are known for all thresholds at once; the
    method then asks every vote of a stream that has no others.
    """
    methods = [_method(job, parameters) for parameters in job.parameters]
    if methods[0].asking.learned or not isinstance(methods[0].policy, Threshold):
        return [(each, stream) for each in methods]
    thresholds = [float(each.parameters["threshold"]) for each in methods]
    paths = _paths(_first_items(stream, asked), methods[0].asking.posterior, thresholds)
    found = []
    for each, threshold in zip(methods, thresholds, strict=True):
        recorded = stream.recorded.copy()
        recorded[:asked] = paths.at(threshold)[0]
        found.append((replace(each, policy=AskAll()), replace(stream, recorded=recorded)))
    return found


def _first_items(stream: Stream, many: int) -> Stream:
    parts: dict[str, Any] = {each.name: getattr(stream, each.name) for each in fields(stream)}
    return replace(stream, **{name: part[:many] for name, part in parts.items() if part is not None})


def _query_free_run(job: Job, chosen: Method, stream: Stream, asked: int) -> Run:
    run = start_run(stream, chosen, _options(job), seed=job.seed)
    assert isinstance(run, CompiledRun)
    run.advance(0, asked)
    outputs = run.outputs
    outputs.confidence[asked:] = np.nan
    run.advance(asked, asked + math.ceil(SAMPLED * (len(stream.items) - asked)))
    params = run.answer_params
    alpha = concentration(params, stream.predictions[asked:].reshape(-1, *params.tau.shape))
    outputs.labels[asked:] = alpha.argmax(axis=1)
    return _run_of(run)


def _options(job: Job) -> StreamOptions:
    after = job.query_free_after
    return StreamOptions(query_free_after=after)


def _run_of(run: StreamRun) -> Run:
    outputs = run.outputs
    return Run(outputs.costs, outputs.labels, outputs.confidence, run.fits[-1] if run.num_fits else np.zeros(0))


def _paths(stream: Stream, posterior: str, thresholds: Sequence[float]) -> FixedPaths:
    """The walks of all items with the fixed prior, as far as these thresholds need them."""
    most = max((threshold for threshold in thresholds if threshold < 1.0), default=0.0)
    return fixed_paths(stream, POSTERIORS[posterior], most)


def _simulated(job: Job, stream: Stream, parameters: Parameters) -> Run:
    """`simulate` without what no job keeps: reasons, and errors of each run by itself."""
    chosen = _method(job, parameters)
    if isinstance(chosen.policy, Threshold) and chosen.policy.threshold >= 1.0 and job.query_free_after is None:
        # Threshold 1 asks until the pool is settled: the same votes and answers without computing a belief. With a pool
        # of 50 this one threshold took a third of the time of all. What it would learn is then unknown.
        chosen = method("until-settled")
    run = start_run(stream, chosen, _options(job), seed=job.seed)
    run.advance(0, len(stream.items))
    return _run_of(run)


def _published(job: Job, stream: Stream, parameters: Parameters) -> Run:
    options = dict(parameters)
    is_released, is_fixed = job.variant == "as-released", job.method.startswith("fixed-")
    done = as_published.stream(
        stream.votes,
        stream.mean_predictions,
        method="infexp" if job.method == "infexp" else "finexp",
        pool_size=job.pool_size,
        threshold=float(options["threshold"]),
        rng=random_stream(job.seed, job.variant, job.method),
        window=job.window,
        refit_every=len(stream.items) + 1 if is_fixed else job.refit_every,
        hyperprior=INFEXP if is_released or is_fixed else None,  # its mode is theta = phi = tau = 1, the fixed prior
        forget_votes=is_released,
        at_once=True,
        likelihood="sampled" if options.get("likelihood") == "sampled" else "closed",
    )
    return Run(done.costs, done.labels, np.full(len(done.labels), np.nan), np.zeros(0))


def _check_published(job: Job) -> None:
    if job.method not in PUBLISHED or job.query_free_after is not None or job.model == "all":
        rule = f"one of {PUBLISHED} with one classifier and one phase, which have a published variant"
        raise invalid("method", job.method, rule, "choose one of these, or run the exact variant.")
