"""A jury of language models, asked only as long as another opinion is worth its price. Runs offline, in seconds.

Seven judges of different skill and price say whether a message is fine, spam or abuse; calls fail now and then. A cheap
classifier gives a first opinion. The answer sought is the plurality of the whole jury. Run: python examples/llm_jury.py
"""

import asyncio
import logging
import sys
from collections import Counter

import quorate
from quorate.live import Judge, Jury, LiveResult, adecide_all
from quorate.rng import stream

CLASSES = ["fine", "spam", "abuse"]
MODELS = {  # name: (share of right answers, price of a call in cents, share of calls that fail)
    "tiny-1": (0.74, 0.05, 0.02),
    "tiny-2": (0.72, 0.05, 0.02),
    "small-1": (0.82, 0.20, 0.02),
    "small-2": (0.80, 0.20, 0.10),
    "small-3": (0.80, 0.25, 0.02),
    "large-1": (0.93, 1.50, 0.03),
    "large-2": (0.92, 1.80, 0.01),
}
SEED = 11


def truth(message: str) -> int:
    """What the message really is; only the stand-ins below know it."""
    return int(stream(SEED, "truth", message).choice(3, p=[0.6, 0.25, 0.15]))


def classifier(message: str) -> list[float]:
    """The free first opinion: probabilities, right four times out of five and too sure of itself."""
    draws = stream(SEED, "classifier", message)
    said = truth(message) if draws.random() < 0.8 else int(draws.integers(3))
    return [0.84 if k == said else 0.08 for k in range(3)]


def opinion(model: str, message: str) -> str | None:
    """What the stand-in for a model answers; None if its call fails. The same every time."""
    skill, _, fails = MODELS[model]
    draws = stream(SEED, "judge", model, message)
    if draws.random() < fails:
        return None
    right = truth(message)
    return CLASSES[right if draws.random() < skill else (right + int(draws.integers(1, 3))) % 3]


async def call(model: str, message: str) -> str:
    """Ask a model. Your API call goes here:

        reply = await client.responses.create(model=model, input=PROMPT.format(message=TEXTS[message]))
        return reply.output_text.strip().lower()

    An exception, a call over `timeout=` and an answer that is no class are failures; return None to abstain.
    """
    await asyncio.sleep(0)  # the wait for the network
    answer = opinion(model, message)
    if answer is None:
        raise TimeoutError(f"{model} did not answer")
    return answer


def make_jury() -> Jury:
    """One judge for each model."""
    judges = [Judge(name, lambda message, name=name: call(name, message), cost=MODELS[name][1]) for name in MODELS]
    return Jury(judges, seed=SEED)


def agreement(result: LiveResult) -> float:
    """Share of answered items with the label of the full jury's plurality; of t tied classes each is right 1 / t."""
    total, answered = 0.0, [outcome for outcome in result.outcomes if outcome.label is not None]
    for outcome in answered:
        votes = Counter(filter(None, (opinion(model, outcome.item) for model in MODELS)))
        top = [name for name, count in votes.items() if count == max(votes.values())]
        total += (outcome.label in top) / len(top)
    return total / len(answered)


async def main(num_messages: int) -> None:
    """Decide the same messages by each rule, then show where the money of ours went."""
    logging.getLogger("quorate.live").setLevel(logging.ERROR)  # failures are expected here, and counted below
    items = [(f"message-{number}", classifier(f"message-{number}")) for number in range(num_messages)]
    rules = {
        "whole jury": quorate.method("ask-all"),
        "beta stop 0.95": quorate.method("beta"),
        "panel": quorate.method("panel", error_cost=200),
        "panel error_cost=50": quorate.method("panel", error_cost=50),
    }
    print(f"{num_messages} messages, {len(MODELS)} judges, {make_jury().full_cost(len(MODELS)):.2f} cents for them all")
    heads = ("cents/item", "saved", "votes/item", "as full jury", "failed", "unanswered")
    print(f"{'rule':22}" + "".join(f"{head:>14}" for head in heads))
    for name, rule in rules.items():
        result = await adecide_all(
            items, make_jury(), method=rule, classes=CLASSES, seed=SEED, concurrency=8, timeout=30, on_error="abstain"
        )
        sums = result.summary()
        cents, votes = sums["cost"] / num_messages, sums["votes"] / num_messages
        print(
            f"{name:22}{cents:14.2f}{sums['saved']:14.0%}{votes:14.2f}{agreement(result):14.1%}"
            f"{sums['failures']:14}{sums['unanswered']:14}"
        )
    print("\npanel error_cost=50, judge by judge")
    for judge, row in result.by_judge().items():
        print(f"{judge:10}{row['votes']:6.0f} votes{row['failures']:5.0f} failed{row['cost']:9.2f} cents")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 400))
