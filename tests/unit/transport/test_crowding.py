"""Who makes room in a crowded listener, and how often refusals are told."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import pytest

from runtime.transport.crowding import EVERY, SILENT, SPEAKING, RefusalLog, next_goes, who_goes


@dataclass(frozen=True)
class Somebody:
    since: float
    has_spoken: bool = False


def test_the_oldest_of_those_who_say_nothing_goes_first() -> None:
    speaking, old, young = Somebody(1.0, has_spoken=True), Somebody(2.0), Somebody(3.0)
    assert who_goes([speaking, young, old], 100.0) is old
    assert who_goes([speaking, young], 100.0) is young
    assert who_goes([speaking], 100.0) is speaking
    assert who_goes([], 100.0) is None


def test_nobody_goes_before_having_had_time() -> None:
    silent, speaking = Somebody(10.0), Somebody(10.0, has_spoken=True)
    assert who_goes([silent, speaking], 10.0 + SILENT / 2) is None
    assert who_goes([silent, speaking], 10.0 + SILENT) is silent
    assert who_goes([speaking], 10.0 + SPEAKING - 0.001) is None
    assert who_goes([speaking], 10.0 + SPEAKING) is speaking
    assert next_goes([speaking, silent]) == 10.0 + SILENT
    assert next_goes([speaking]) == 10.0 + SPEAKING


def test_refusals_of_a_kind_are_told_once_and_then_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 5.0
    refusals = RefusalLog(logging.getLogger("doors"), lambda: now)
    for number in range(1000):
        refusals.add("silent", number, "it said nothing")
    refusals.add("other", "elsewhere", "it said too much")
    assert caplog.messages == [
        "a connection from 0 was refused: it said nothing",
        "a connection from elsewhere was refused: it said too much",
    ]
    now += EVERY
    refusals.add("silent", "here", "it said nothing")
    refusals.add("silent", "there", "it said nothing again")
    refusals.close()
    refusals.close()
    assert caplog.messages[2:] == [
        "a connection from here was refused: it said nothing (999 more like it before)",
        "connections that were refused too: 1, the last one from there: it said nothing again",
    ]
