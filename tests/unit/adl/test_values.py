"""Texts of attributes become values by the annotation, or a sentence that says what to write."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcm.adl.values import AdlValueFault, convert


class Colour(Enum):
    RED = "r"
    GREEN = "g"


@pytest.mark.parametrize(
    ("text", "annotation", "value"),
    [
        (" x ", str, " x "),
        ("x", Any, "x"),
        ("x", object, "x"),
        ("7", int, 7),
        (" -7 ", int, -7),
        ("007", int, 7),
        ("0x10", int, 16),
        ("0b11", int, 3),
        ("1e3", float, 1000.0),
        ("3", float, 3.0),
        ("1+2j", complex, 1 + 2j),
        ("true", bool, True),
        ("Yes", bool, True),
        ("on", bool, True),
        ("1", bool, True),
        ("false", bool, False),
        ("no", bool, False),
        ("off", bool, False),
        ("0", bool, False),
        ("", int | None, None),
        ("None", int | None, None),
        ("5", int | None, 5),
        ("x", int | str, "x"),
        ("5", int | str, 5),
        ("b", Literal["a", "b"], "b"),
        ("2", Literal[1, 2], 2),
        ("r", Colour, Colour.RED),
        ("GREEN", Colour, Colour.GREEN),
        ("a/b", Path, Path("a/b")),
        ("1, 2,3", list[int], [1, 2, 3]),
        ("[1, 2]", list[int], [1, 2]),
        ("", list[int], []),
        ("[]", list[int], []),
        ("a,'b,c'", list[str], ["a", "b,c"]),
        ("a,b", list, ["a", "b"]),
        ("(1, 2)", tuple[int, ...], (1, 2)),
        ("1, x", tuple[int, str], (1, "x")),
        ("{1, 1}", set[int], {1}),
        ("1", frozenset[int], frozenset({1})),
    ],
)
def test_a_text_becomes_a_value(text: str, annotation: Any, value: object) -> None:
    converted = convert(text, annotation)
    assert converted == value
    assert type(converted) is type(value)


@pytest.mark.parametrize(
    ("text", "annotation", "message", "hint"),
    [
        ("x", int, "'x' is not an int", "write an int"),
        ("1.5", int, "'1.5' is not an int", "write an int"),
        ("0z", int, "'0z' is not an int", "write an int"),
        ("x", float, "'x' is not a float", "write a float"),
        ("maybe", bool, "'maybe' is not a bool", "write true or false"),
        ("x", int | float, "'x' is not int | float", ""),
        ("red", Colour, "'red' is none of the values that are allowed", "did you mean 'RED'?"),
        (
            "zzz",
            Literal["a", "b"],
            "'zzz' is none of the values that are allowed",
            "write one of: a, b",
        ),
        ("1, x", list[int], "'x' is not an int", "write an int"),
        ("1,2,3", tuple[int, int], "2 values are needed, 3 are given", ""),
        ("'1", list[str], "the quote ' is not closed in ''1'", ""),
        (
            "x",
            dict[str, int],
            "an attribute of the type dict[str, int] cannot be written in a document",
            "set it from Python, or give it a type such as int, str or list[float]",
        ),
    ],
)
def test_a_text_that_does_not_fit_is_refused(
    text: str, annotation: Any, message: str, hint: str
) -> None:
    with pytest.raises(AdlValueFault) as caught:
        convert(text, annotation)
    assert (str(caught.value), caught.value.hint) == (message, hint)


@given(st.lists(st.integers()))
def test_any_list_of_integers_is_read_back(values: list[int]) -> None:
    assert convert(str(values), list[int]) == values


@given(st.floats(allow_nan=False))
def test_any_float_is_read_back(value: float) -> None:
    assert convert(repr(value), float) == value
