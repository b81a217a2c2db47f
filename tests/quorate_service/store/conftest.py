"""These tests create the tables themselves: each starts with an empty database."""

import pytest


@pytest.fixture
def database_url(empty_database_url):
    return empty_database_url
