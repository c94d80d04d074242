"""A server for the watcher, and directories to watch."""

import pytest

from tests.api.conftest import name
from tests.client.conftest import server

__all__ = ["name", "server"]


@pytest.fixture
def inbox(tmp_path):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    return inbox
