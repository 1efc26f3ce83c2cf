"""Values of attributes are written so that they are read back as the same values."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcm.adl.values import AdlValueFault, convert
from gcm.adl.writing.wording import text_of, written


class Shade(Enum):
    LIGHT = "dark"
    DARK = "light"


@pytest.mark.parametrize(
    ("value", "annotation", "text"),
    [
        (5, int, "5"),
        (True, bool, "true"),
        (False, bool, "false"),
        (0.1, float, "0.1"),
        (" as it is ", str, " as it is "),
        ("plain", Any, "plain"),
        (None, int | None, "None"),
        (Shade.LIGHT, Shade, "LIGHT"),
        (Path("a/b"), Path, "a/b"),
        (2, Literal[1, 2], "2"),
        ([1, 2], list[int], "1, 2"),
        ([], list[int], ""),
        ([""], list[str], "''"),
        (["a,b", " c", "it's"], list[str], "'a,b', ' c', 'it''s'"),
        ([[1, 2], [3]], list[list[int]], "'1, 2', 3"),
        ((1, "x"), tuple[int, str], "1, x"),
        ({3, 1, 2}, set[int], "1, 2, 3"),
        (frozenset({"b", "a"}), frozenset[str], "a, b"),
        ([Shade.DARK, Shade.LIGHT], list[Shade], "DARK, LIGHT"),
        (float("nan"), float, "nan"),
    ],
)
def test_a_value_is_written_as(value: object, annotation: Any, text: str) -> None:
    assert written(value, annotation) == text


@pytest.mark.parametrize(
    ("value", "annotation"),
    [(5, Any), ("None", str | None), (1, bool | int), ({"a": 1}, dict[str, int]), ("x", int)],
)
def test_a_value_that_would_not_be_read_back_is_refused(value: object, annotation: Any) -> None:
    with pytest.raises(AdlValueFault):
        written(value, annotation)


def test_the_refusal_shows_the_value_and_what_would_be_read() -> None:
    with pytest.raises(AdlValueFault, match=r"^5 .*: '5' is read as '5'$"):
        written(5, Any)


@given(st.lists(st.text()))
def test_any_list_of_texts_can_be_written(value: list[str]) -> None:
    assert convert(written(value, list[str]), list[str]) == value


@given(st.lists(st.lists(st.floats(allow_nan=False))))
def test_any_list_of_lists_of_numbers_can_be_written(value: list[list[float]]) -> None:
    assert convert(written(value, list[list[float]]), list[list[float]]) == value


def test_every_value_has_a_text_even_if_it_cannot_be_read_back() -> None:
    assert text_of({"a": 1}) == "{'a': 1}"
