"""The names of ports: what is published, found, and taken back."""

from __future__ import annotations

import pytest

from runtime.ports import NameAnswer, NameRequest, PortNames
from runtime.ports.names import LONGEST, MOST

PUBLISH, UNPUBLISH, LOOK_UP = NameRequest.PUBLISH, NameRequest.UNPUBLISH, NameRequest.LOOK_UP


def test_a_name_is_found_by_all_until_it_is_taken_back() -> None:
    names = PortNames()
    assert names.ask("0:0:3", LOOK_UP, "ocean") == (NameAnswer.UNKNOWN, "")
    assert names.ask("0:0:1", PUBLISH, "ocean", "here") == (NameAnswer.DONE, "here")
    assert names.ask("0:0:3", LOOK_UP, "ocean") == (NameAnswer.DONE, "here")
    assert names.ask("0:0:2", PUBLISH, "ocean", "there") == (NameAnswer.TAKEN, "here")
    assert names.ask("0:0:2", UNPUBLISH, "ocean", "there") == (NameAnswer.OTHER_PORT, "here")
    assert names.ask("0:0:2", UNPUBLISH, "ocean", "here") == (NameAnswer.DONE, "here")
    assert names.ask("0:0:2", UNPUBLISH, "ocean", "here") == (NameAnswer.UNKNOWN, "")


def test_names_go_with_the_rank_that_has_published_them() -> None:
    names = PortNames()
    names.ask("0:0:1", PUBLISH, "ocean", "here")
    names.ask("0:0:2", PUBLISH, "land", "there")
    names.forget("0:0:1")
    assert names.ask("0:0:3", LOOK_UP, "ocean") == (NameAnswer.UNKNOWN, "")
    assert names.ask("0:0:3", LOOK_UP, "land") == (NameAnswer.DONE, "there")


def test_a_rank_publishes_a_limited_number_of_names_and_others_go_on() -> None:
    names = PortNames()
    for number in range(MOST):
        names.ask("0:0:1", PUBLISH, str(number), "here")
    assert names.ask("0:0:1", PUBLISH, "ocean", "here") == (NameAnswer.TOO_MANY, "")
    assert names.ask("0:0:2", PUBLISH, "ocean", "there") == (NameAnswer.DONE, "there")
    names.ask("0:0:1", UNPUBLISH, "7", "here")
    assert names.ask("0:0:1", PUBLISH, "land", "here") == (NameAnswer.DONE, "here")


@pytest.mark.parametrize(("name", "port"), [("n" * (LONGEST + 1), ""), ("n", "p" * (LONGEST + 1))])
def test_no_name_fills_the_memory_of_the_launcher(name: str, port: str) -> None:
    with pytest.raises(ValueError, match="characters"):
        PortNames().ask("0:0:1", PUBLISH, name, port)
