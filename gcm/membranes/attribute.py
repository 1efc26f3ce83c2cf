"""The `attribute` controller: the settings of a component, read and set by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Protocol,
    TypeVar,
    cast,
    get_type_hints,
)

from gcm.components.controller import Controller
from gcm.components.declarations import declared_attributes
from gcm.errors import NoSuchAttributeError
from gcm.interfaces.annotations import describe, fits
from gcm.invocation import Caller, RemotePort
from gcm.suggestion import did_you_mean

if TYPE_CHECKING:
    from gcm.components.model import Component


T = TypeVar("T")

_PLAIN = (str, bytes, bool, int, float, complex, list, tuple, dict, set, frozenset)
_NUMBERS = (bool, int, float, complex)


def _contradicts(value: object, annotation: Any) -> bool:
    """Return whether a value surely contradicts its annotation; only plain values are judged."""
    kind = type(value)
    if kind not in _PLAIN:
        return False
    if kind in _NUMBERS and any(fits(number, annotation) for number in _NUMBERS):
        return False
    # A literal fits wherever its type does, and also where the literal itself is asked for.
    return not fits(Literal[value] if isinstance(value, str | bytes | int) else kind, annotation)


def _wanted(signature: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the annotations of the attributes and properties that a Protocol has."""
    bases = [base for base in getattr(signature, "__mro__", ()) if base is not Protocol]
    properties = {
        name: get_type_hints(member.fget).get("return", Any)
        for base in reversed(bases)
        for name, member in vars(base).items()
        if isinstance(member, property) and member.fget is not None
    }
    return {**properties, **get_type_hints(signature)}


class _Typed:
    """The attributes of one component as attributes of an object."""

    __slots__ = ("_attributes", "_signature", "_wanted")

    def __init__(
        self,
        attributes: AttributeController,
        signature: Callable[..., Any],
        wanted: Mapping[str, Any],
    ) -> None:
        object.__setattr__(self, "_attributes", attributes)
        object.__setattr__(self, "_signature", signature)
        object.__setattr__(self, "_wanted", wanted)

    def __getattr__(self, name: str) -> Any:
        self._require(name)
        return self._attributes.get(name)

    def __setattr__(self, name: str, value: object) -> None:
        self._require(name)
        if isinstance(getattr(self._signature, name, None), property):
            raise AttributeError(f"'{name}' of {describe(self._signature)} is only read")
        self._attributes.set(name, value)

    def __dir__(self) -> list[str]:
        return [*self._wanted]

    def __repr__(self) -> str:
        return f"<{describe(self._signature)} of {self._attributes.component.path}>"

    def _require(self, name: str) -> None:
        if name not in self._wanted:
            raise AttributeError(f"{describe(self._signature)} has no attribute '{name}'")


class AttributeController(Controller):
    """Reads and sets the attributes that the content declares with `attribute()`.

    After a migration they are read and set where the content is.
    """

    __slots__ = ("_elsewhere",)
    name = "attribute"
    __not_operations__ = Controller.__not_operations__ | {"follow", "typed"}

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self._elsewhere: Caller | None = None

    def follow(self, caller: Caller) -> None:
        """Read and set the content that `caller` leads to from now on."""
        self._elsewhere = caller

    def names(self) -> list[str]:
        """Return the names of the attributes."""
        return list(self._declared())

    def get(self, name: str) -> Any:
        """Return the value of an attribute.

        Raises:
            NoSuchAttributeError: there is none of that name, or it has no value yet.
        """
        self._require(name)
        if self._elsewhere is not None:
            return self._remote("get")(name)
        try:
            return getattr(self.component.content, name)
        except AttributeError as error:
            raise NoSuchAttributeError(
                f"attribute '{name}' has no value yet",
                component=self.component.path,
                cure="Set it, or give it a default in the content class",
            ) from error

    def set(self, name: str, value: Any) -> None:
        """Set an attribute.

        Raises:
            NoSuchAttributeError: there is none of that name, or the value plainly contradicts the
                annotation; in doubt it is accepted.
        """
        self._require(name)
        self._require_fit(name, value)
        if self._elsewhere is not None:
            self._remote("set")(name, value)
        else:
            setattr(self.component.content, name, value)

    def typed(self, signature: Callable[..., T]) -> T:
        """Return the attributes as one object, typed by a Protocol that annotates them.

        Reading and setting its attributes are `get` and `set`; a property is only read.

        >>> class Settings(Protocol):
        ...     size: int
        >>> settings = attributes.typed(Settings)    # doctest: +SKIP
        >>> settings.size = 5                        # doctest: +SKIP

        Raises:
            NoSuchAttributeError: the component lacks some, or has them of other types, with every
                one listed.
        """
        declared = self._declared()
        wanted = _wanted(signature)
        faults = [
            f"there is no attribute '{name}'"
            if name not in declared
            else f"'{name}' is {describe(declared[name])}, not {describe(annotation)}"
            for name, annotation in wanted.items()
            if name not in declared or not fits(declared[name], annotation)
        ]
        if faults:
            raise NoSuchAttributeError(
                f"the attributes are not those of {describe(signature)}: " + "; ".join(faults),
                component=self.component.path,
                cure=f"There is: {', '.join(declared) or 'none'}",
            )
        return cast(T, _Typed(self, signature, wanted))

    def _require_fit(self, name: str, value: object) -> None:
        annotation = self._declared()[name]
        if not _contradicts(value, annotation):
            return
        raise NoSuchAttributeError(
            f"{value!r} is not a value for attribute '{name}' of the type {describe(annotation)}",
            component=self.component.path,
            cure="Pass a value of that type, or change the annotation in the content class",
        )

    def _remote(self, operation: str) -> RemotePort:
        assert self._elsewhere is not None
        interface = f"{self.name}-controller"
        return RemotePort(self._elsewhere, self.component.path, interface, operation)

    def _declared(self) -> Mapping[str, Any]:
        return declared_attributes(self.component.content_class)

    def _require(self, name: str) -> None:
        declared = self._declared()
        if name not in declared:
            raise NoSuchAttributeError(
                f"there is no attribute '{name}'",
                component=self.component.path,
                cure=did_you_mean(name, declared) or f"There is: {', '.join(declared) or 'none'}",
            )
