"""The objects that ordinary Pyro5 clients may call: names, metadata, and calls that fail."""

from __future__ import annotations

from typing import Any

import pytest
from Pyro5.errors import DaemonError

from gcm.interfaces.future import Future
from runtime.transport.pyro.exposed_objects import ExposedObject, ExposedObjects

DAEMON = "Pyro.Daemon"


def added(method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Future[Any]:
    done: Future[Any] = Future(method)
    done.set_result(sum(args))
    return done


@pytest.fixture
def objects() -> ExposedObjects:
    made = ExposedObjects()
    made.expose("book", ExposedObject(["add"], added, oneway=["add"]))
    return made


def test_clients_find_exposed_objects_and_the_daemon(objects: ExposedObjects) -> None:
    assert [name in objects for name in ("book", DAEMON, "shelf")] == [True, True, False]
    assert objects.metadata("book") == {"methods": ["add"], "oneway": ["add"], "attrs": []}
    assert objects.call(DAEMON, "get_metadata", ("book",), {}).result()["methods"] == ["add"]
    assert objects.call(DAEMON, "registered", (), {}).result() == ["book"]
    assert objects.call(DAEMON, "ping", (), {}).result() is None
    assert objects.call("book", "add", (1, 2), {}).result() == 3


@pytest.mark.parametrize(
    ("name", "method", "error", "words"),
    [
        ("book", "ad", AttributeError, "'book' exposes no method 'ad'. did you mean 'add'"),
        ("shelf", "add", DaemonError, "unknown object 'shelf' or method 'add'"),
        (DAEMON, "shutdown", DaemonError, "unknown object 'Pyro.Daemon' or method 'shutdown'"),
    ],
)
def test_calls_of_unknown_names_fail(
    objects: ExposedObjects, name: str, method: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        objects.call(name, method, (), {}).result()
