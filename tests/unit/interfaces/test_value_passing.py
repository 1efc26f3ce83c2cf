"""What crosses by value shares nothing that can change."""

from __future__ import annotations

import threading
from typing import Any, Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcm import primitive, provides
from gcm.interfaces.value import by_value


class Echo(Protocol):
    def say(self) -> None: ...


@provides("echo", Echo)
class Speaker:
    def say(self) -> None: ...


@pytest.mark.parametrize("value", [None, True, 1, 2.5, 1j, "text", b"bytes", range(3), int])
def test_what_cannot_change_is_passed_as_it_is(value: object) -> None:
    assert by_value(value) is value


def test_a_tuple_of_what_cannot_change_is_passed_as_it_is() -> None:
    value = (1, "two", None)
    assert by_value(value) is value


def test_a_tuple_with_something_that_can_change_is_copied() -> None:
    inner = [1]
    copied = by_value((1, inner))
    assert copied == (1, [1])
    assert copied[1] is not inner


@given(st.recursive(st.integers() | st.text(), lambda inner: st.lists(inner) | st.tuples(inner)))
def test_a_copy_is_equal(value: Any) -> None:
    assert by_value(value) == value


def test_a_subclass_of_an_immutable_type_may_have_state_and_is_copied() -> None:
    class Tagged(str):
        tags: list[str]

    value = Tagged("x")
    value.tags = ["a"]
    copied = by_value(value)
    assert copied == "x"
    assert copied.tags == ["a"]
    assert copied.tags is not value.tags


def test_what_is_shared_within_one_value_stays_shared() -> None:
    same = [1]
    copied = by_value([same, same])
    assert copied[0] is copied[1]
    assert copied[0] is not same


def test_a_stub_stays_a_reference() -> None:
    stub = primitive(Speaker).server("echo").stub
    assert by_value({"stub": [stub]})["stub"][0] is stub


def test_what_cannot_be_copied_is_refused() -> None:
    with pytest.raises(TypeError, match="pickle"):
        by_value([threading.Lock()])
