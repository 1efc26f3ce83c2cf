"""Classes that a descriptor names: found by their names, and compared with their contracts."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Sequence
from typing import Any

from runtime.collectives.choice import Choice, PlanChoice, UsualPlans
from runtime.collectives.rules import RuledPlans, read_rules
from runtime.machine.interceptors import (
    ENVELOPES,
    PAYLOADS,
    EnvelopeInterceptor,
    PayloadInterceptor,
)
from runtime.machine.roles import INTERCEPTOR, PLAN_CHOICE, REFERENCE_CACHE, TENSIONING, TRANSPORT
from runtime.routing import ConnectionBound, Tensioning

__all__ = [
    "CONTRACTS",
    "CURE",
    "Choice",
    "NotFound",
    "fault_of",
    "fault_of_class",
    "load",
    "usual_plans",
]

CONTRACTS: dict[str, type] = {
    PLAN_CHOICE: PlanChoice,
    TENSIONING: Tensioning,
    REFERENCE_CACHE: ConnectionBound,
}
"""The contract of each role that a controller can have."""

LAUNCHER = "launcher"
_GIVEN = ("place", "arguments", "python", "timeout")

CURE = "The class lies in the folder of the program, or where its Python finds it"


class NotFound(Exception):
    """There is no such class; `module` is empty, or what was missing when it was imported."""

    def __init__(self, why: str, module: str = "") -> None:
        super().__init__(why)
        self.module = module


def usual_plans(rules: str) -> PlanChoice:
    """Return the plan-choice that precedes no other: the usual one, behind rules if there are."""
    usual = UsualPlans()
    return RuledPlans(usual, read_rules(rules)) if rules else usual


def load(name: str) -> Any:
    """Return what `module.Class` names.

    Raises:
        NotFound: there is no such module, or nothing of that name in it.
        Exception: whatever the module raises when it is imported.
    """
    module_name, _, class_name = name.rpartition(".")
    if not module_name:
        raise NotFound(f"'{name}' has no module; write module.Class")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module_name == missing or module_name.startswith(missing + "."):
            raise NotFound(f"there is no module '{missing}'") from None
        raise NotFound(f"module '{module_name}' needs module '{missing}'", missing) from None
    try:
        return getattr(module, class_name)
    except AttributeError:
        from gcm.documents import did_you_mean  # only for mistakes

        classes = [one for one, value in vars(module).items() if inspect.isclass(value)]
        hint = did_you_mean(class_name, classes)
        why = f"module '{module_name}' has no class '{class_name}'"
        raise NotFound(f"{why}; {hint}" if hint else why) from None


def fault_of(role: str, found: Any) -> str:
    """Return what keeps a class from a role, or nothing.

    >>> fault_of("plan-choice", dict)
    "a plan-choice has a method 'choose'"
    """
    if not inspect.isclass(found):
        return f"it is not a class, but {found!r}"
    if role == INTERCEPTOR:
        return _fault_of_interceptor(found)
    if role == LAUNCHER:
        from runtime.launchers.base import Launcher  # no rank needs it

        rule = f"a launcher is called as launcher(local, {', '.join(f'{one}=' for one in _GIVEN)})"
        fault = _fault_of_call(found, rule, 1, _GIVEN)
        return _fault_of_methods(role, found, Launcher) or fault
    if role == TRANSPORT:
        from runtime.transport.transport import Transport

        if not isinstance(getattr(found, "is_on_host", None), bool):
            return "a transport says whether it 'is_on_host', True or False"
        return fault_of_class(role, found, Transport)
    fault = _fault_of_call(
        found, f"{_a(role)} is constructed with the controller that it precedes", 1
    )
    return _fault_of_methods(role, found, CONTRACTS[role]) or fault


def fault_of_class(role: str, found: Any, contract: type) -> str:
    """Return what keeps a class that is constructed without arguments from a contract, or nothing.

    >>> fault_of_class("plan-choice", dict, PlanChoice)
    "a plan-choice has a method 'choose'"
    """
    if not inspect.isclass(found):
        return f"it is not a class, but {found!r}"
    fault = _fault_of_call(found, f"{_a(role)} is constructed without arguments", 0)
    return _fault_of_methods(role, found, contract) or fault


def _a(role: str) -> str:
    return f"an {role}" if role == INTERCEPTOR else f"a {role}"


def _fault_of_interceptor(found: type) -> str:
    looks_at = getattr(found, "looks_at", None)
    if looks_at not in (ENVELOPES, PAYLOADS):
        return f"looks_at of an interceptor is '{ENVELOPES}' or '{PAYLOADS}', and not {looks_at!r}"
    contract = EnvelopeInterceptor if looks_at == ENVELOPES else PayloadInterceptor
    names = [name for name in ("sending", "received") if hasattr(found, name)]
    if looks_at == ENVELOPES and not names:
        return "an interceptor has a method 'sending', 'received' or both"
    wanted = names if looks_at == ENVELOPES else None
    fault = _fault_of_call(found, "an interceptor is constructed without arguments", 0)
    return _fault_of_methods(INTERCEPTOR, found, contract, wanted) or fault


def _fault_of_methods(
    role: str, found: type, contract: type, wanted: list[str] | None = None
) -> str:
    if wanted is None:
        wanted = [name for name, one in vars(contract).items() if inspect.isfunction(one)]
    for name in wanted:
        if name.startswith("_"):
            continue
        method = getattr(found, name, None)
        if not callable(method):
            return f"{_a(role)} has a method '{name}'"
        parameters = inspect.signature(getattr(contract, name)).parameters
        called = f"{name}({', '.join(list(parameters)[1:])})"
        bound = not isinstance(inspect.getattr_static(found, name), staticmethod | classmethod)
        named = [one.name for one in parameters.values() if one.kind is one.KEYWORD_ONLY]
        count = len(parameters) - len(named) - (not bound)
        fault = _fault_of_call(
            method, f"'{name}' of {_a(role)} is called as {called}", count, named
        )
        if fault:
            return fault
    return ""


def _fault_of_call(called: Any, rule: str, count: int, named: Sequence[str] = ()) -> str:
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):
        return ""  # of a builtin nobody knows
    try:
        signature.bind(*[None] * count, **dict.fromkeys(named))
    except TypeError as error:
        return f"{rule}: {error}"
    return ""
