"""The nearest known name."""

from __future__ import annotations

import pytest

from gcm.suggestion import did_you_mean, nearest


@pytest.mark.parametrize(
    ("name", "known", "found"),
    [
        ("greter", ["logger", "greeter"], "greeter"),
        ("GREETER", ["greeter"], "greeter"),
        ("greeter", ["Greeter"], "Greeter"),
        ("xyz", ["greeter"], ""),
        ("greeter", [], ""),
    ],
)
def test_the_nearest_name_is_found_whatever_its_case(
    name: str, known: list[str], found: str
) -> None:
    assert nearest(name, known) == found


def test_nothing_is_suggested_where_nothing_is_near() -> None:
    assert did_you_mean("xyz", ["greeter"]) == ""
