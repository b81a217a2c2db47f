"""Early stopping of epochs in inspect-ai, with its mock model, at several `max_samples`. Runs offline, in a minute.

Thirty questions, ten epochs each; on a third of them the model is unsure. Run: python examples/inspect_epochs.py
Needs `pip install 'quorate[inspect]'`.
"""

import sys
import tempfile
from collections import Counter

import anyio
from inspect_ai import Epochs, Task
from inspect_ai import eval as run_eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessage, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate

from quorate.integrations.inspect_ai import EpochStopping
from quorate.rng import stream

QUESTIONS, EPOCHS = 30, 10


def evaluate(manager: EpochStopping | None, max_samples: int) -> EvalLog:
    """One evaluation with a stand-in for a model: some answers take longer than others."""
    calls: Counter[str] = Counter()

    async def answer(messages: list[ChatMessage], *_: object) -> ModelOutput:
        question = messages[-1].text
        draws = stream(4, question, calls[question])
        calls[question] += 1
        await anyio.sleep(0.02 * draws.random())
        skill = 0.6 if int(question) % 3 == 0 else 0.95
        output = ModelOutput.from_content("mockllm", "yes" if draws.random() < skill else "no")
        output.usage = ModelUsage(input_tokens=1, output_tokens=1)
        return output

    task = Task(
        dataset=[Sample(input=str(number), target="yes", id=number) for number in range(QUESTIONS)],
        solver=generate(),
        scorer=match(),
        epochs=Epochs(EPOCHS, "mode"),
        early_stopping=manager,
    )
    model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    with tempfile.TemporaryDirectory() as folder:
        return run_eval(task, model=model, max_samples=max_samples, display="none", log_dir=folder)[0]


def main(sizes: list[int]) -> None:
    """Print how many epochs ran, and how many of them in vain."""
    print(f"{QUESTIONS} questions, {EPOCHS} epochs each: {QUESTIONS * EPOCHS}")
    print(f"{'max_samples':>12}{'hold':>8}{'epochs run':>12}{'in vain':>9}{'stopped':>9}")
    for size in sizes:
        for hold in (True, False):
            log = evaluate(EpochStopping(threshold=0.95, hold=hold), size)
            told = log.results.early_stopping.metadata
            run, vain = told["epochs_counted"], told["epochs_run_after_their_sample_was_decided"]
            print(f"{size:12}{hold!s:>8}{run:12}{vain:9}{told['epochs_stopped']:9}")


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1, 4, 16, 64])
