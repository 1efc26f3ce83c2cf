"""Section 4.5: the life-cycle controller."""

from __future__ import annotations

import threading

import pytest

from gcm import Component, ComponentType, LifeCycleController, Role
from gcm.errors import IllegalLifeCycleError
from tests.fractal.clause import Topic
from tests.fractal.parts import (
    MANDATORY,
    SERVER,
    WITH_CLIENT,
    Caller,
    Echo,
    Speaker,
    client,
    collection,
    composite,
    primitive,
)

TOPIC = Topic("Life-cycle controller")


def _life(component: Component) -> LifeCycleController:
    return component.controller(LifeCycleController)


def _nested() -> tuple[Component, Component, Component]:
    """Return a composite that leads from its server through two parts to its client."""
    c, d = primitive("c", WITH_CLIENT), primitive("d", WITH_CLIENT)
    r = composite("r", WITH_CLIENT, parts=(c, d))
    r.bind("server", c.server("server"))
    c.bind("client", d.server("server"))
    d.bind("client", r.inner_server("client"))
    return r, c, d


@TOPIC.rule("4.5", "a new component is stopped; it can be started and stopped again and again")
def started_and_stopped() -> None:
    part = primitive("p", SERVER, Speaker)
    assert _life(part).state() == "stopped"
    for _ in range(2):
        part.start()
        assert _life(part).state() == "started"
        assert part.stub("server", Echo).say("x") == "x"
        part.stop()
        assert _life(part).state() == "stopped"


@TOPIC.rule("4.5", "starting what runs and stopping what does not changes nothing")
def twice() -> None:
    part = primitive("p", SERVER, Speaker)
    part.stop()
    part.start()
    part.start()
    assert part.state == "started"


@TOPIC.rule("6", "a component with a mandatory client that is not bound does not start")
def a_mandatory_client() -> None:
    part = primitive("p", WITH_CLIENT)
    with pytest.raises(IllegalLifeCycleError, match="mandatory interface 'client' is not bound"):
        part.start()
    assert part.state == "stopped"


@TOPIC.rule("6", "nor does a composite whose mandatory server leads nowhere inside")
def a_mandatory_inner_face() -> None:
    box = composite("r", SERVER)
    with pytest.raises(IllegalLifeCycleError, match="mandatory interface 'server' is not bound"):
        box.start()


@TOPIC.rule("6", "a collection has any number of members, and the mandatory ones are bound")
def a_mandatory_collection() -> None:
    declared = ComponentType((collection("clients", Role.CLIENT, MANDATORY),))
    part = primitive("p", declared, Caller)
    part.start()
    part.stop()
    part.bind("clients0", primitive("q", SERVER, Speaker).server("server"))
    part.start()
    inner = composite("c", ComponentType((collection("servers", Role.SERVER, MANDATORY),)))
    inner.start()
    inner.stop()
    caller = primitive("d", ComponentType((client(),)), Caller)
    caller.bind("client", inner.server("servers0"))
    with pytest.raises(IllegalLifeCycleError, match="mandatory interface 'servers0' is not bound"):
        inner.start()


@TOPIC.rule("4.5", "a composite starts and stops with everything inside it")
def recursively() -> None:
    r, c, d = _nested()
    last = primitive("last", SERVER, Speaker)
    last.start()
    r.bind("client", last.server("server"))
    r.start()
    assert {one.state for one in (r, c, d)} == {"started"}
    assert r.stub("server", Echo).say("x") == "x"
    r.stop()
    assert {one.state for one in (r, c, d)} == {"stopped"}


@TOPIC.rule("4.5", "a start that fails leaves everything stopped")
def nothing_half_started() -> None:
    r, c, d = _nested()
    d.unbind("client")
    with pytest.raises(IllegalLifeCycleError, match="/r/d: mandatory interface 'client'"):
        r.start()
    assert {one.state for one in (r, c, d)} == {"stopped"}


@TOPIC.rule("4.5", "a stopped component serves its controllers, and lets functional calls wait")
def calls_wait() -> None:
    part = primitive("p", SERVER, Speaker)
    part.start()
    part.stop()
    assert part.server("component").stub.path() == "/p"  # type: ignore[attr-defined]
    said: list[str] = []
    calling = threading.Thread(target=lambda: said.append(part.stub("server", Echo).say("x")))
    calling.start()
    assert said == []
    part.start()
    calling.join(30)
    assert said == ["x"]


@TOPIC.rule(
    "4.5",
    "there are two states, and others may be added",
    instead="`terminated`, of GCM: the end for good",
)
def terminated() -> None:
    part = primitive("p", SERVER, Speaker)
    part.terminate()
    with pytest.raises(IllegalLifeCycleError, match="cannot start a component that is terminated"):
        part.start()
