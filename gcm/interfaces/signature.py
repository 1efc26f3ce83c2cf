"""The operations of an interface class: their names, parameters and results."""

from __future__ import annotations

import inspect
from abc import ABC
from collections.abc import Callable, Coroutine, Hashable, Mapping
from functools import lru_cache
from types import GenericAlias, MappingProxyType
from typing import Any, Generic, Protocol, TypeVar, cast

from gcm.errors import IllegalTypeError
from gcm.interfaces.hints import Hints, resolve_hints, split_annotated
from gcm.interfaces.policies.reduction import Reduction, reduction_mark
from gcm.interfaces.policies.spreading import Distribution, broadcast, distribution_mark
from gcm.records import dataclass

Extra = TypeVar("Extra")

_ROOTS = frozenset((object, ABC, Protocol, Generic))
_CACHED_SIGNATURES = 4096

_REFUSED: tuple[tuple[type[Any], str], ...] = (
    (property, "is a property: an interface carries calls, not attributes; make it an operation"),
    (classmethod, "is a classmethod: calls go to a component, not to a class"),
    (staticmethod, "is a staticmethod: calls go to a component; give it 'self'"),
)


class SignatureError(IllegalTypeError):
    """A class that cannot be the signature of an interface; `faults` lists every reason."""

    def __init__(self, what: str, faults: tuple[str, ...] = (), *, cure: str = "") -> None:
        super().__init__(f"{what}: {'; '.join(faults)}" if faults else what, cure=cure)
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operation.

    `annotation` is the resolved type without `Annotated`, `Any` if there is none, or a string where
    the text could not be resolved; `distribution` is how a multicast call distributes it.
    """

    name: str
    kind: inspect._ParameterKind
    annotation: Any = Any
    has_default: bool = False
    distribution: Distribution = broadcast


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of an interface.

    `result` is like the annotation of a parameter, a coroutine for an `async` operation.
    `distribution` and `reduction` are those of the operation or else of its interface; `reduction`
    is None where results come as a list. `python` is the signature without `self`, with default
    values and resolved annotations.
    """

    name: str
    parameters: tuple[Parameter, ...]
    result: Any
    distribution: Distribution
    reduction: Reduction | None
    python: inspect.Signature

    @property
    def returns_nothing(self) -> bool:
        """Whether the operation is annotated to return None."""
        return self.result is type(None)

    def __str__(self) -> str:
        return f"{self.name}{self.python}"


@dataclass(frozen=True, slots=True)
class Signature:
    """The operations of an interface class by name, those of its bases first."""

    interface: type[Any]
    operations: Mapping[str, Operation]


def signature_of(interface: type[Any]) -> Signature:
    """Read the operations of a Protocol or abstract class, once per class.

    Operations are the public methods of the class and of its bases. Raises SignatureError, with
    every fault listed, for members that no call can reach and annotations that name nothing. In a
    class made inside a function such annotations are kept as text, because nobody can resolve
    them; what `Annotated` says must be resolvable everywhere.

    >>> signature_of(Greeter).operations["greet"].parameters  # doctest: +SKIP
    """
    if not isinstance(interface, type):
        raise SignatureError(
            f"{interface!r} is not a class and cannot be the signature of an interface",
            cure="Use a typing.Protocol or an abstract class",
        )
    return _signature(cast(Hashable, interface))


def is_abstract(interface: type[Any]) -> bool:
    """Return whether a class only declares operations: a Protocol, or an abstract class.

    The class of a controller says which of its methods are operations, and counts as well.
    """
    return bool(
        getattr(interface, "_is_protocol", False)
        or getattr(interface, "__abstractmethods__", ())
        or ABC in interface.__bases__
        or hasattr(interface, "__not_operations__")
    )


@lru_cache(maxsize=_CACHED_SIGNATURES)
def _signature(interface: Any) -> Signature:
    operations: dict[str, Operation] = {}
    faults: list[str] = []
    for name, member in _members(interface).items():
        refusal = next((why for kind, why in _REFUSED if isinstance(member, kind)), None)
        if refusal:
            faults.append(f"'{name}' {refusal}")
        elif inspect.isfunction(member):
            operations[name] = read_operation(name, member, interface, faults)
    if faults:
        raise SignatureError(
            f"{interface.__qualname__} cannot be the signature of an interface", tuple(faults)
        )
    return Signature(interface, MappingProxyType(operations))


def _members(interface: type[Any]) -> dict[str, object]:
    # A class can name methods that are not for callers, as controllers do with their hooks.
    left_out: frozenset[str] = getattr(interface, "__not_operations__", frozenset())
    return {
        name: member
        for base in reversed(interface.__mro__)
        if base not in _ROOTS
        for name, member in vars(base).items()
        if not name.startswith("_") and name not in left_out
    }


def read_operation(
    name: str, function: Callable[..., Any], owner: type[Any], faults: list[str]
) -> Operation:
    """Read one method of a class; errors in it are added to `faults`."""
    python = inspect.signature(function)
    written = list(python.parameters.values())
    if not written or written[0].kind in (
        inspect.Parameter.KEYWORD_ONLY,
        inspect.Parameter.VAR_KEYWORD,
    ):
        faults.append(f"'{name}' takes no 'self'")
    elif written[0].kind is not inspect.Parameter.VAR_POSITIONAL:
        del written[0]
    return make_operation(name, function, owner, python.replace(parameters=written), faults)


def make_operation(
    name: str,
    function: Callable[..., Any],
    owner: type[Any],
    python: inspect.Signature,
    faults: list[str],
) -> Operation:
    """Make an operation of a signature that has no `self` any more."""
    hints = resolve_hints(function, owner)
    local = "<locals>" in owner.__qualname__
    faults += [
        f"'{name}': {problem}"
        for key, problem in hints.problems.items()
        # Text is good enough for a comparison, but hides what an `Annotated` says of distribution.
        if not local or "Annotated[" in hints.types[key]
    ]
    mark = distribution_mark(function)
    common = mark.common or distribution_mark(owner).common
    faults += [
        f"'{name}' has no parameter '{unknown}', which @distribute names"
        for unknown in mark.named
        if unknown not in python.parameters
    ]
    parameters = tuple(
        _parameter(name, written, hints, mark.named.get(written.name) or common, faults)
        for written in python.parameters.values()
    )
    result, extras = split_annotated(hints.of("return"))
    if inspect.iscoroutinefunction(function):
        result = GenericAlias(Coroutine, (Any, Any, result))
    own = _sole(Reduction, extras, f"the result of '{name}'", faults)
    _misplaced(Distribution, extras, f"the result of '{name}'", "parameters", faults)
    return Operation(
        name,
        parameters,
        result,
        common or broadcast,
        own or reduction_mark(function) or reduction_mark(owner),
        _resolved(python, hints),
    )


def _parameter(
    operation: str,
    written: inspect.Parameter,
    hints: Hints,
    outer: Distribution | None,
    faults: list[str],
) -> Parameter:
    annotation, extras = split_annotated(hints.of(written.name))
    label = f"parameter '{written.name}' of '{operation}'"
    own = _sole(Distribution, extras, label, faults)
    _misplaced(Reduction, extras, label, "results", faults)
    return Parameter(
        written.name,
        written.kind,
        annotation,
        written.default is not inspect.Parameter.empty,
        own or outer or broadcast,
    )


def _resolved(python: inspect.Signature, hints: Hints) -> inspect.Signature:
    parameters = [
        written.replace(annotation=_bare(hints, written.name, inspect.Parameter.empty))
        for written in python.parameters.values()
    ]
    result = _bare(hints, "return", inspect.Signature.empty)
    return python.replace(parameters=parameters, return_annotation=result)


def _bare(hints: Hints, name: str, missing: Any) -> Any:
    return split_annotated(hints.of(name))[0] if name in hints.types else missing


def _sole(
    kind: type[Extra], extras: tuple[Any, ...], label: str, faults: list[str]
) -> Extra | None:
    found = [extra for extra in extras if isinstance(extra, kind)]
    if len(found) > 1:
        listed = ", ".join(str(extra) for extra in found)
        faults.append(f"{label} has more than one {kind.__name__.lower()}: {listed}")
    return found[0] if found else None


def _misplaced(
    kind: type[Any], extras: tuple[Any, ...], label: str, home: str, faults: list[str]
) -> None:
    faults += [
        f"{label} is annotated with the {kind.__name__.lower()} '{extra}', which is for {home}"
        for extra in extras
        if isinstance(extra, kind)
    ]
