"""The names of ports: what is published, found, and taken back."""

from __future__ import annotations

import pytest

from runtime.ports import NameAnswer, NameRequest, PortNames
from runtime.ports.names import LONGEST

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


@pytest.mark.parametrize(("name", "port"), [("n" * (LONGEST + 1), ""), ("n", "p" * (LONGEST + 1))])
def test_no_name_fills_the_memory_of_the_launcher(name: str, port: str) -> None:
    with pytest.raises(ValueError, match="characters"):
        PortNames().ask("0:0:1", PUBLISH, name, port)
