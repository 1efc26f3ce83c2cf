"""Parameters of operations as source: exactly what was given is handed on."""

from __future__ import annotations

import traceback
from typing import Any, Protocol

import pytest

from gcm.interfaces.signature import signature_of
from gcm.interfaces.stub import compiled, spelled, stub_class, unused


class Shapes(Protocol):
    def none(self) -> None: ...

    def plain(self, one: int, two: str) -> None: ...

    def only(self, one: int, *, two: int, three: int) -> None: ...

    def defaulted(self, one: int, two: int = 2) -> None: ...

    def rest(self, one: int, *others: int) -> None: ...

    def named(self, one: int, **others: int) -> None: ...

    def clash(self, port: int, port_: int) -> None: ...


OPERATIONS = signature_of(Shapes).operations


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("none", ("", "")),
        ("plain", ("one, two", "one, two")),
        ("only", ("one, *, two, three", "one, two=two, three=three")),
        ("defaulted", ("*args, **kwargs", "*args, **kwargs")),
        ("rest", ("*args, **kwargs", "*args, **kwargs")),
        ("named", ("*args, **kwargs", "*args, **kwargs")),
    ],
)
def test_parameters_are_spelled_out_unless_some_may_be_left_out(
    operation: str, expected: tuple[str, str]
) -> None:
    assert spelled(OPERATIONS[operation]) == expected


def test_a_name_is_lengthened_until_no_parameter_has_it() -> None:
    assert unused("port", OPERATIONS["plain"]) == "port"
    assert unused("port", OPERATIONS["clash"]) == "port__"


def test_a_parameter_may_have_the_name_that_a_stub_uses_itself() -> None:
    stub: Any = stub_class(Shapes)(None)
    stub._set_port("clash", lambda *given: given)
    assert stub.clash(1, 2) == (1, 2)


def test_compiled_functions_have_their_source_in_tracebacks() -> None:
    functions = compiled("def fail():\n    raise OSError('here')\n", "<made up>")
    assert list(functions) == ["fail"]
    with pytest.raises(OSError, match="here") as caught:
        functions["fail"]()
    text = "".join(traceback.format_exception(caught.value))
    assert 'File "<made up>", line 2, in fail\n    raise OSError' in text
