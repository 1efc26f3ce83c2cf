"""Ends the components and the threads that a unit test makes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

from gcm import Component

C = TypeVar("C", bound=Component)


@pytest.fixture
def ended() -> Iterator[Callable[[C], C]]:
    """Return a function that notes a component, to be stopped and terminated after the test."""
    noted: list[Component] = []

    def note(component: C) -> C:
        noted.append(component)
        return component

    yield note
    for component in reversed(noted):
        if component.state != "terminated":
            component.stop()
            component.terminate()


@pytest.fixture
def in_thread() -> Iterator[Callable[..., threading.Thread]]:
    """Return a function that runs another one in a thread; the test fails if it does not end."""
    threads: list[threading.Thread] = []

    def run(function: Callable[..., Any], *args: Any) -> threading.Thread:
        thread = threading.Thread(target=function, args=args, daemon=True)
        threads.append(thread)
        thread.start()
        return thread

    yield run
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive(), "a thread of the test still waits"
