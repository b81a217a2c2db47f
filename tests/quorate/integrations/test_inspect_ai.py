"""inspect-ai with its mock models: epochs stop when their mode is certain enough, panels of graders save calls."""

import gc
import warnings
from collections import Counter

import anyio
import pytest

pytest.importorskip("inspect_ai", reason="needs inspect-ai: pip install 'quorate[inspect]'")

from inspect_ai import Epochs, Task
from inspect_ai import eval as run_eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, match, scorer, stderr
from inspect_ai.solver import generate

from quorate.integrations.inspect_ai import EpochStopping, grader, panel_scorer
from quorate.live import Panel
from quorate.rng import stream
from tests.refusals import refused

EPOCHS = 8
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of packages that inspect-ai uses


@pytest.fixture(autouse=True)
def streams_left_open():
    """inspect-ai leaves streams to the garbage collector: collect them here, not in another test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()


def answers(skill):
    """A model with a different accuracy on each sample; some answers take longer."""
    calls = Counter()

    async def answer(messages, tools, tool_choice, config):
        text = messages[-1].text
        number = calls[text]
        calls[text] += 1
        draws = stream(2, text, number)
        await anyio.sleep(0.003 * draws.random())
        output = ModelOutput.from_content("mockllm", "yes" if draws.random() < skill(text) else "no")
        output.usage = ModelUsage(input_tokens=5, output_tokens=1)  # else it wants to fetch a tokenizer
        return output

    return get_model("mockllm/model", custom_outputs=answer, memoize=False), calls


def evaluate(tmp_path, manager, *, samples=6, skill=lambda text: 0.9, max_samples=1, epochs=EPOCHS, **options):
    model, calls = answers(skill)
    dataset = [Sample(input=f"question {number}", target="yes", id=number) for number in range(1, samples + 1)]
    task = Task(
        dataset=dataset, solver=generate(), scorer=match(), epochs=Epochs(epochs, "mode"), early_stopping=manager
    )
    [log] = run_eval(
        task, model=model, max_samples=max_samples, display="none", log_dir=str(tmp_path), log_samples=True, **options
    )
    assert log.status == "success", log.error
    return log, calls


def told(log):
    return log.results.early_stopping.metadata


def test_epochs_that_cannot_matter_are_not_run(tmp_path):
    log, calls = evaluate(tmp_path, EpochStopping(threshold=0.9))
    stops = log.results.early_stopping.early_stops
    assert calls.total() + len(stops) == 6 * EPOCHS and len(stops) > 18
    assert told(log)["epochs_counted"] == calls.total() and told(log)["epochs_stopped"] == len(stops)
    assert told(log)["samples_decided"] == 6
    assert all(stop.metadata["confidence"] > 0.9 or stop.reason == "settled" for stop in stops)


@pytest.mark.parametrize("max_samples", [1, 3, 8, 100])
def test_at_any_concurrency_no_epoch_runs_in_vain(tmp_path, max_samples):
    log, calls = evaluate(tmp_path, EpochStopping(threshold=0.9), max_samples=max_samples)
    assert told(log)["epochs_run_after_their_sample_was_decided"] == 0
    assert calls.total() == told(log)["epochs_counted"] < 6 * EPOCHS


@pytest.mark.parametrize("max_samples", [1, 5, 100])
def test_without_holding_only_what_was_already_running_is_in_vain(tmp_path, max_samples):
    manager = EpochStopping(threshold=0.9, hold=False)
    started_late, decided = [], set()
    schedule, complete = manager.schedule_sample, manager.complete_sample

    async def watched_schedule(name, epoch):
        stop = await schedule(name, epoch)
        if stop is None and name in decided:
            started_late.append((name, epoch))
        return stop

    async def watched_complete(name, epoch, scores):
        await complete(name, epoch, scores)
        if not manager.session.decision(repr(name)).ask:
            decided.add(name)

    manager.schedule_sample, manager.complete_sample = watched_schedule, watched_complete
    log, calls = evaluate(tmp_path, manager, max_samples=max_samples)
    assert started_late == [] and len(decided) == 6
    in_vain = told(log)["epochs_run_after_their_sample_was_decided"]
    assert in_vain <= 6 * (max_samples - 1) and calls.total() == told(log)["epochs_counted"]


def test_the_score_of_a_sample_is_mostly_the_mode_of_all_epochs(tmp_path):
    skill = {f"question {number}": 0.05 + 0.9 * (number % 2) for number in range(1, 21)}.get
    log, _ = evaluate(tmp_path, EpochStopping(), samples=20, skill=skill, max_samples=10)
    [reductions] = log.reductions
    right = sum(found.value == ("C" if int(found.sample_id) % 2 else "I") for found in reductions.samples)
    assert right >= 19


def test_epochs_that_fail_are_abstentions_and_nobody_waits_for_them(tmp_path):
    def fails(text):
        if text == "question 2":
            raise RuntimeError("no answer")
        return 0.95

    manager = EpochStopping(threshold=0.9, patience=200)
    log, calls = evaluate(tmp_path, manager, samples=3, skill=fails, max_samples=20, fail_on_error=False)
    assert calls["question 2"] == EPOCHS and told(log)["epochs_failed"] == EPOCHS
    assert calls["question 1"] < EPOCHS


def test_an_epoch_that_is_tried_again_does_not_wait_for_itself(tmp_path):
    seen = Counter()

    def once(text):
        seen[text] += 1
        if seen[text] == 1:
            raise RuntimeError("first call")
        return 0.95

    manager = EpochStopping(threshold=0.9, patience=200)
    log, _ = evaluate(tmp_path, manager, samples=2, skill=once, max_samples=5, retry_on_error=1)
    assert told(log)["epochs_failed"] == 0 and told(log)["samples_decided"] == 2


def test_a_good_prediction_saves_epochs(tmp_path):
    sure = {number: {CORRECT: 0.99} for number in range(1, 7)}
    plain, _ = evaluate(tmp_path / "a", EpochStopping())
    helped, _ = evaluate(tmp_path / "b", EpochStopping(predictions=sure))
    assert told(helped)["epochs_counted"] < told(plain)["epochs_counted"]


def test_a_manager_can_serve_one_task_after_the_other(tmp_path):
    manager = EpochStopping(threshold=0.9)
    first, _ = evaluate(tmp_path / "a", manager)
    second, _ = evaluate(tmp_path / "b", manager)
    assert told(first) == told(second)


@scorer(metrics=[accuracy(), stderr()])
def noisy(name, skill, fails=0.0):
    """A grader that is right with probability `skill`."""

    async def score(state, target):
        draws = stream(5, name, state.sample_id)
        if draws.random() < fails:
            raise ConnectionError("503")
        right = state.output.completion.startswith(target.text)
        return Score(value=CORRECT if right == (draws.random() < skill) else INCORRECT)

    return score


def graded(tmp_path, judges, samples=40, **options):
    model, _ = answers(lambda text: 0.7)
    dataset = [Sample(input=f"question {number}", target="yes", id=number) for number in range(1, samples + 1)]
    task = Task(dataset=dataset, solver=generate(), scorer=panel_scorer(judges, **options))
    [log] = run_eval(task, model=model, display="none", log_dir=str(tmp_path))
    assert log.status == "success", log.error
    return log, [sample.scores["quorate_panel"] for sample in log.samples]


def test_a_panel_of_graders_saves_calls_and_counts_costs_by_judge(tmp_path):
    prices = {"tiny": 0.1, "small": 0.3, "medium": 1.0, "large": 2.0, "larger": 3.0}
    panel = Panel([grader(name, noisy(name, 0.93), cost=cost) for name, cost in prices.items()], ["C", "I"])
    log, scores = graded(tmp_path, panel)
    truth = [sample.output.completion == "yes" for sample in log.samples]
    assert sum((score.value == "C") == right for score, right in zip(scores, truth, strict=True)) >= 36
    sums = panel.result().summary()
    assert sums["items"] == 40 and sums["cost"] < 0.4 * sums["full_cost"]
    assert sum(score.metadata["cost"] for score in scores) == pytest.approx(sums["cost"])
    assert panel.result().by_judge()["tiny"]["votes"] == 40


def test_a_grader_that_fails_abstains_and_is_named(tmp_path):
    judges = [
        grader("down", noisy("down", 1.0, fails=1.0), cost=0.1),
        grader("up", noisy("up", 1.0)),
        grader("b", noisy("b", 1.0)),
    ]
    _, scores = graded(tmp_path, Panel(judges, ["C", "I"], give_up_after=1000), samples=10)
    assert all(score.metadata["failed"] == {"down": "ConnectionError: 503"} for score in scores[:1])
    assert {score.value for score in scores} <= {"C", "I"}


def test_a_tie_is_unscored_unless_the_first_is_wanted(tmp_path):
    def panel():
        return Panel([grader("right", noisy("a", 1.0)), grader("wrong", noisy("b", 0.0))], ["C", "I"], method="ask-all")

    _, scores = graded(tmp_path / "a", panel(), samples=3)
    assert all(score.reason == "tied" and score.metadata["tied"] == ["C", "I"] for score in scores)
    _, scores = graded(tmp_path / "b", panel(), samples=3, on_tie="first")
    assert {score.value for score in scores} <= {"C", "I"}


def test_samples_that_nobody_graded_are_unscored(tmp_path):
    down = Panel([grader("down", noisy("down", 1.0, fails=1.0))], ["C", "I"], give_up_after=1000)
    _, scores = graded(tmp_path, down, samples=3)
    assert all(score.reason == "grader_failed" for score in scores)


def test_a_second_evaluation_in_the_same_session_is_graded_anew(tmp_path):
    def panel(skill, **options):
        return Panel([grader(name, noisy(name, skill)) for name in ("a", "b")], ["C", "I"], audit_rate=0.0, **options)

    right = panel(1.0)
    _, first = graded(tmp_path / "a", right, samples=3)
    wrong = panel(0.0, session=right.session)
    _, second = graded(tmp_path / "b", wrong, samples=3)
    assert [score.value for score in second] != [score.value for score in first]
    assert all(score.metadata["votes"] for score in second)


def test_models_by_name_grade_with_the_scorer_given(tmp_path):
    _, scores = graded(
        tmp_path, {"m1": 1.0, "m2": 2.0, "m3": 3.0}, samples=5, graded_by=lambda model: noisy(model, 1.0)
    )
    assert all(set(score.metadata["votes"]) <= {"m1", "m2", "m3"} for score in scores)


def test_a_scorer_that_is_not_there_is_named(tmp_path):
    manager = EpochStopping(scorer="nobody")
    with refused("scorer"):
        anyio.run(complete_one, manager)


async def complete_one(manager):
    await manager.complete_sample(1, 1, {"match": None})
