"""What the tests of calls between processes share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runtime.transport.reactor import Reactor


@pytest.fixture
def reactor() -> Iterator[Reactor]:
    with Reactor() as made:
        yield made
