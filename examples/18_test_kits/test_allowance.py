"""A controller under test: the contract of all controllers, and a rule that depends on time.

    python -m pytest --quiet examples/18_test_kits/test_allowance.py

`ControllerContract` tests what components expect of any controller, in a passive component and in
an active object. `ScriptedClock` stands still until the test moves it, so the test does not sleep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import pytest

from gcm import PRIMITIVE, Component, Controller, primitive, provides, running
from gcm.testing import ControllerContract, ScriptedClock


class Allowance(Controller):
    """Admits a limited number of calls per minute."""

    name = "allowance"
    clock: ClassVar[Callable[[], float]] = ScriptedClock()

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self._most = 100
        self._admitted: list[float] = []

    def wrap(self, interface: Any, operation: str, proceed: Callable[..., Any]) -> Any:
        def counted(*args: Any, **kwargs: Any) -> Any:
            now = type(self).clock()
            self._admitted = [then for then in self._admitted if now - then < 60.0]
            if len(self._admitted) >= self._most:
                raise PermissionError(f"more than {self._most} calls in a minute")
            self._admitted.append(now)
            return proceed(*args, **kwargs)

        return counted

    def allow(self, most: int) -> None:
        self._most = most


class TestAllowance(ControllerContract):
    controller = Allowance


class Ask(Protocol):
    def ask(self) -> int: ...


@provides("ask", Ask)
class Oracle:
    def ask(self) -> int:
        return 42


def test_a_call_is_admitted_again_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ScriptedClock(1000.0)
    monkeypatch.setattr(Allowance, "clock", clock)
    oracle = primitive(Oracle, controllers=PRIMITIVE.including(Allowance))
    oracle.controller(Allowance).allow(1)
    with running(oracle):
        ask = oracle.stub("ask", Ask).ask
        assert ask() == 42
        clock.advance(59.0)
        with pytest.raises(PermissionError):
            ask()
        clock.advance(1.0)
        assert ask() == 42
