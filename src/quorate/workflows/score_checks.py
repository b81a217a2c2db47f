"""Tables to be scored together -> nothing, or an error: do their rows speak of the same items?

Called by `score`: before reading for arrays without ids, after it for votes that hardly any item has.
"""

from __future__ import annotations

from collections.abc import Sequence

from quorate.errors import InvalidInput
from quorate.workflows.score_parts import Reading
from quorate.workflows.score_predictions import Model

FEWEST = 10  # items with votes from which on a share says something
FIX = "say whose rows they are, in order: ids=[...] (--ids FILE, one id a line), `ids` in an .npz, or a table with ids"


def refuse_unnamed(models: Sequence[Model], *, with_votes: bool) -> None:
    """Rows of an array without ids go with those of arrays as long, and with nothing else: places are no names."""
    unnamed = [model for model in models if model.num_unnamed is not None]
    if not unnamed:
        return
    one = unnamed[0]
    if with_votes or len(unnamed) < len(models):
        other = "the votes" if with_votes else next(each.source for each in models if each.num_unnamed is None)
        raise InvalidInput(
            f"{one.source} has no ids, so its {one.num_unnamed} rows are called 0, 1, ..., and {other} would be "
            f"matched by place; expected ids in both; {FIX}."
        )
    odd = next((each for each in unnamed if each.num_unnamed != one.num_unnamed), None)
    if odd is not None:
        raise InvalidInput(
            f"{one.source} has {one.num_unnamed} rows and {odd.source} {odd.num_unnamed}, both without ids; expected "
            f"the same items in the same order; {FIX}."
        )


def refuse_poor_match(num_items: int, num_voted: int, left_over: int, source: str, reading: Reading) -> None:
    """Nothing to score, and votes of which no item, or less than half of them, is in the predictions."""
    if num_items == 0:
        raise InvalidInput(f"{source} has no item to score; expected rows with an id; export it again.")
    if reading.as_read or left_over == 0:
        return
    if num_voted == 0 or (left_over >= FEWEST and left_over > num_voted):
        raise InvalidInput(
            f"{num_voted} of the {num_voted + left_over} items with votes are in {source}; expected most of them; "
            "check that the ids mean the same in both (task='...', id_column='...'). If the data are like that, pass "
            "as_read=True (--as-read)."
        )


def refuse_lost_votes(source: str, num_votes: int, num_set_aside: int, reading: Reading) -> None:
    """More rows of the votes set aside than counted; streams are judged at their end, before the file is there."""
    if not reading.as_read and num_set_aside >= FEWEST and num_set_aside > num_votes:
        raise InvalidInput(
            f"{source}: {num_set_aside} rows are set aside and {num_votes} votes are counted; expected most rows to "
            "count; check the columns (task='...', label='...', format='...') and that the labels are the classes of "
            "the params. If the data are like that, pass as_read=True (--as-read)."
        )
