"""`refused(field)`: what stands below it raises an error that names this field, and this value if one is given."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from quorate.errors import InvalidInput, QuorateError

ANY = object()


@contextmanager
def refused(
    field: object, error: type[QuorateError] = InvalidInput, *, value: object = ANY
) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Like `pytest.raises(error)`, with a look at the parts of the error."""
    with pytest.raises(error) as caught:
        yield caught
    assert caught.value.field == field
    if value is not ANY:
        assert caught.value.value == value
