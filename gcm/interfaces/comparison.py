"""Compares one operation of a client's signature with the server's."""

from __future__ import annotations

import inspect
from types import GenericAlias
from typing import Any

from gcm.interfaces.annotations import describe, element_of, fits
from gcm.interfaces.kinds import Cardinality
from gcm.interfaces.signature import Operation, Parameter
from gcm.records import dataclass

_KIND = inspect._ParameterKind
_POSITIONAL = (_KIND.POSITIONAL_ONLY, _KIND.POSITIONAL_OR_KEYWORD)
_BY_NAME = (_KIND.POSITIONAL_OR_KEYWORD, _KIND.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One reason why two signatures do not fit; `parameter` is empty where none is concerned.

    `expected` is what the client's side needs, `found` what the server's side has; `sentence`
    explains it.
    """

    operation: str
    parameter: str
    expected: str
    found: str
    sentence: str

    def __str__(self) -> str:
        return self.sentence


class Comparison:
    """Compares one operation of the client's side with that of the server's."""

    def __init__(
        self,
        client: Operation,
        server: Operation,
        names: tuple[str, str],
        cardinality: Cardinality,
    ) -> None:
        self._client = client
        self._server = server
        self._giver, self._taker = (f"{name}.{client.name}" for name in names)
        self._cardinality = cardinality
        self._found: list[Mismatch] = []
        parameters = server.parameters
        self._slots = [one for one in parameters if one.kind in _POSITIONAL]
        self._named = {one.name: one for one in parameters if one.kind in _BY_NAME}
        self._rest = next((one for one in parameters if one.kind is _KIND.VAR_POSITIONAL), None)
        self._others = next((one for one in parameters if one.kind is _KIND.VAR_KEYWORD), None)

    def mismatches(self) -> list[Mismatch]:
        """Return what does not fit, parameters first and the result last."""
        given = [one for one in self._client.parameters if one.kind in _POSITIONAL]
        for position, parameter in enumerate(given):
            self._positional(position, parameter)
        for parameter in self._client.parameters:
            if parameter.kind is _KIND.KEYWORD_ONLY:
                self._keyword(parameter)
            elif parameter.kind is _KIND.VAR_POSITIONAL:
                self._variadic(parameter, self._rest, "any number of positional arguments")
            elif parameter.kind is _KIND.VAR_KEYWORD:
                self._variadic(parameter, self._others, "any keyword arguments")
        self._never_given(len(given))
        self._result()
        return self._found

    def _report(self, parameter: str, expected: str, found: str, sentence: str) -> None:
        self._found.append(Mismatch(self._client.name, parameter, expected, found, sentence))

    def _positional(self, position: int, given: Parameter) -> None:
        if position >= len(self._slots):
            self._beyond(given)
            return
        slot = self._slots[position]
        if given.kind is _KIND.POSITIONAL_OR_KEYWORD:
            if slot.name != given.name:
                self._report(
                    given.name,
                    given.name,
                    slot.name,
                    f"parameter {position + 1} of {self._taker} is named '{slot.name}', but "
                    f"{self._giver} names it '{given.name}' and may be called with the name",
                )
            elif slot.kind is _KIND.POSITIONAL_ONLY and self._others is None:
                self._report_position_only(given)
        self._value(given, slot)

    def _beyond(self, given: Parameter) -> None:
        """Handle a positional parameter beyond those of the server."""
        by_name = given.kind is _KIND.POSITIONAL_OR_KEYWORD
        if by_name and given.name in self._named:
            self._report(
                given.name,
                "positional or keyword",
                "keyword only",
                f"{self._taker} takes '{given.name}' by keyword only, but {self._giver} may be "
                "called without the name",
            )
        elif self._rest is None:
            sentence = f"{self._taker} has no parameter '{given.name}'"
            self._report(given.name, _written(given), "", sentence)
        elif by_name and self._others is None:
            self._report_position_only(given)
        else:
            self._type(given, self._rest)

    def _report_position_only(self, given: Parameter) -> None:
        self._report(
            given.name,
            "positional or keyword",
            "positional only",
            f"{self._taker} takes '{given.name}' by position only, but {self._giver} may be "
            "called with the name",
        )

    def _keyword(self, given: Parameter) -> None:
        slot = self._named.get(given.name)
        if slot is not None:
            self._value(given, slot)
        elif self._others is None:
            self._report(
                given.name,
                _written(given),
                "",
                f"{self._taker} has no parameter '{given.name}' that takes a keyword",
            )
        else:
            self._type(given, self._others)

    def _variadic(self, given: Parameter, slot: Parameter | None, what: str) -> None:
        if slot is None:
            self._report(
                given.name, what, "", f"{self._taker} does not take {what}, as {self._giver} does"
            )
        else:
            self._type(given, slot)

    def _value(self, given: Parameter, slot: Parameter) -> None:
        if given.has_default and not slot.has_default:
            self._report(
                given.name,
                "a default",
                "no default",
                f"{self._taker} requires '{slot.name}', which {self._giver} may leave out",
            )
        self._type(given, slot)

    def _never_given(self, count: int) -> None:
        names = {one.name for one in self._client.parameters if one.kind in _BY_NAME}
        for position, slot in enumerate(self._slots):
            if position >= count and not slot.has_default and slot.name not in names:
                self._report_never_given(slot)
        for slot in self._server.parameters:
            if slot.kind is _KIND.KEYWORD_ONLY and not slot.has_default and slot.name not in names:
                self._report_never_given(slot)

    def _report_never_given(self, slot: Parameter) -> None:
        self._report(
            slot.name,
            "",
            _written(slot),
            f"{self._taker} requires '{slot.name}', which {self._giver} never gives",
        )

    def _type(self, given: Parameter, slot: Parameter) -> None:
        expected, why = self._given_type(given)
        if expected is None:
            self._report(
                given.name,
                "a list or an array",
                describe(given.annotation),
                f"{self._giver} spreads '{given.name}' by {given.distribution}, but "
                f"{describe(given.annotation)} has no elements to spread",
            )
        elif not fits(expected, slot.annotation):
            self._report(
                given.name,
                describe(expected),
                describe(slot.annotation),
                f"{self._taker} takes {describe(slot.annotation)} for '{slot.name}', but "
                f"{self._giver} gives {describe(expected)}{why}",
            )

    def _given_type(self, given: Parameter) -> tuple[Any, str]:
        """Return the type that reaches the server (None: nothing can), and where it comes from."""
        if self._cardinality is Cardinality.GATHERCAST:
            return GenericAlias(list, (given.annotation,)), " (one element per client)"
        if self._cardinality is not Cardinality.MULTICAST or given.distribution.is_whole:
            return given.annotation, ""
        if given.distribution.is_element_wise:
            return element_of(given.annotation), f" (spread by {given.distribution})"
        return Any, ""

    def _result(self) -> None:
        wanted, found = self._client.result, self._server.result
        if self._cardinality is Cardinality.MULTICAST:
            self._multicast_result(wanted, found)
        elif self._cardinality is Cardinality.GATHERCAST:
            self._gathercast_result(wanted, found)
        elif not fits(found, wanted):
            self._report_result(wanted, found, "")

    def _multicast_result(self, wanted: Any, found: Any) -> None:
        reduction = self._client.reduction
        if self._client.returns_nothing:
            return
        if reduction is None:
            results = GenericAlias(list, (found,))
            if not fits(results, wanted):
                hint = " (without a reduction the client gets the list of all results)"
                self._report_result(wanted, results, hint)
        elif reduction.keeps_type and not fits(found, wanted):
            self._report_result(wanted, found, f" (reduced by {reduction})")

    def _gathercast_result(self, wanted: Any, found: Any) -> None:
        if self._client.returns_nothing:
            return
        given = found if self._server.returns_nothing else _indexed(found)
        if given is None or not fits(given, wanted):
            hint = " (one result per client)"
            self._report_result(GenericAlias(list, (wanted,)), found, hint)

    def _report_result(self, wanted: Any, found: Any, hint: str) -> None:
        self._report(
            "",
            describe(wanted),
            describe(found),
            f"{self._taker} returns {describe(found)}, but {self._giver} needs "
            f"{describe(wanted)}{hint}",
        )


def _indexed(annotation: Any) -> Any:
    """Return the type of one element of a result, None if it has no elements."""
    element = element_of(annotation)
    return Any if element is annotation else element  # the element type of an array is unknown


def _written(parameter: Parameter) -> str:
    stars = {_KIND.VAR_POSITIONAL: "*", _KIND.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    return f"{stars}{parameter.name}: {describe(parameter.annotation)}"
