"""A real Label Studio for the tests here, which skip without one and fail with CI=true."""

import pytest

from tests.connect.label_studio import studio as studios
from tests.missing import missing


@pytest.fixture
def studio(tmp_path):
    """A server of its own, on a copy of the template."""
    if lacking := studios.missing():
        missing(lacking, "make label-studio")
    made = studios.copy_of_template(tmp_path / "label-studio")
    try:
        made.start()
        yield made
    finally:
        made.kill()
