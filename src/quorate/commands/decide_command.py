"""`quorate decide`: one prediction and some votes -> ask one more, or stop with which answer."""

from __future__ import annotations

from typing import Annotated

from quorate.commands.decide import decide_once, explain
from quorate.commands.options import ERROR_COST_HELP, Json, MethodSpec, class_list, option
from quorate.commands.output import print_json, print_lines, print_table
from quorate.methods import chosen_method
from quorate.validate import invalid
from quorate.version import __version__


def decide(
    pool_size: Annotated[int, option("How many experts could be asked in all.", "--pool-size", "-n")],
    prediction: Annotated[
        str | None,
        option("The classifier's probabilities, e.g. 0.7,0.2,0.1; default: no classifier.", "--prediction", "-p"),
    ] = None,
    votes: Annotated[
        str | None, option("Votes so far, a count per class in the same order, e.g. 1,0,0.", "--votes", "-v")
    ] = None,
    classes: Annotated[str | None, option("Names of the classes, e.g. cat,dog,bird.")] = None,
    method: MethodSpec = None,
    error_cost: Annotated[float | None, option(ERROR_COST_HELP)] = None,
    json: Json = False,
) -> None:
    """Ask one more expert, or stop? One decision from the numbers you type.

    Nothing is stored: the classifier counts as one vote, as for the first item of a session. A live quorate.Session
    learns how many votes it is really worth.

    Example: quorate decide --prediction 0.7,0.2,0.1 --votes 1,0,0 --pool-size 6 --classes cat,dog,bird
    """
    chosen = chosen_method(method, error_cost=error_cost)
    probs = _numbers(prediction, "prediction")
    cast = _numbers(votes, "votes")
    names = _names(classes, probs, cast)
    decision = decide_once(chosen, prediction=probs, votes=cast, pool_size=pool_size, classes=names)
    shares = [] if decision.probs is None else [float(share) for share in decision.probs]
    if json:
        print_json(
            {
                "ask": decision.ask,
                "label": decision.label,
                "confidence": decision.confidence,
                "probs": dict(zip(names, shares, strict=True)),
                "num_votes": decision.num_votes,
                "reason": decision.reason,
                "method": chosen.describe(),
                "version": __version__,
            }
        )
        return
    print_lines(explain(decision, chosen, pool_size=pool_size), "")
    predicted = ["-"] * len(names) if probs is None else [f"{share:.3f}" for share in probs]
    counted = ["0"] * len(names) if cast is None else [f"{count:g}" for count in cast]
    rows = list(zip(names, predicted, counted, [f"{100 * share:.1f} %" for share in shares], strict=True))
    heads = ("class", "classifier", "votes", "wins the pool")
    print_table(f"Who wins the pool of {pool_size}? (quorate {__version__})", heads, rows, strong=decision.label)


def _numbers(text: str | None, where: str) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise invalid(where, text, "numbers with commas", f"write e.g. `{where}='1,0,0'`.") from None


def _names(classes: str | None, probs: list[float] | None, votes: list[float] | None) -> list[str]:
    if classes is not None:
        return class_list(classes)
    given = probs if probs is not None else votes
    if given is None:
        rule = "at least one of `prediction`, `votes` and `classes`"
        raise invalid("prediction", None, rule, "pass `prediction` or `votes`.")
    return [f"class-{k}" for k in range(len(given))]
