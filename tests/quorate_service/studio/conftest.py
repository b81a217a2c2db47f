"""A real Label Studio for the tests here, which skip without one and fail with CI=true."""

import pytest

from tests.missing import missing
from tests.quorate_service.studio import studio as studios


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server for the tests of one file, on a copy of the template."""
    if lacking := studios.missing():
        missing(lacking, "make label-studio")
    made = studios.copy_of_template(tmp_path_factory.mktemp("label-studio") / "data")
    yield made
    made.kill()


@pytest.fixture
def studio(server):
    """The server, running, even if an earlier test has killed it."""
    if not server.is_up():
        server.kill()
        server.start()
    return server
