"""A cluster of which the launcher hears nothing is lost itself, whoever has found out first."""

from __future__ import annotations

import logging
import queue
from collections.abc import Iterator
from logging.handlers import QueueHandler

import pytest

from runtime.errors import GridError
from runtime.health import DetectorSettings
from runtime.launchers.local import LocalLauncher
from runtime.processes.launcher.place import ClusterPlace
from runtime.processes.launcher.verdicts import Verdicts
from runtime.processes.watch import WatchedGroups
from runtime.transport.reactor import Reactor
from tests.planned_cluster import planned_cluster

LONG = 20.0
SUSPICIOUS = DetectorSettings(period=0.02, max_hang=60.0)
"""Suspects soon, and waits for an answer for long, as a detector on a busy machine does."""
TRUSTING = DetectorSettings(period=60.0)

Verdict = tuple[ClusterPlace, str, GridError | None]


@pytest.fixture
def said() -> Iterator[queue.Queue[logging.LogRecord]]:
    records: queue.Queue[logging.LogRecord] = queue.Queue()
    handler, log = QueueHandler(records), logging.getLogger(Verdicts.__module__)
    log.addHandler(handler)
    yield records
    log.removeHandler(handler)


@pytest.mark.parametrize(
    ("settings", "is_silent", "what"),
    [
        (SUSPICIOUS, True, "the front-end, its host"),
        (TRUSTING, False, "the line from s/a to s/b is cut"),
    ],
    ids=["silent", "heard"],
)
def test_a_cut_line_to_a_cluster_is_blamed_only_while_the_launcher_hears_of_the_cluster(
    said: queue.Queue[logging.LogRecord], settings: DetectorSettings, is_silent: bool, what: str
) -> None:
    verdicts: queue.Queue[Verdict] = queue.Queue()
    with LocalLauncher() as launcher, Reactor("verdicts") as reactor:
        clusters = [planned_cluster("a"), planned_cluster("b", (0, 1))]
        first, second = (ClusterPlace(one, launcher) for one in clusters)
        first.is_up = second.is_up = True
        places = {one.identifier: one for one in (first, second)}
        watch = WatchedGroups((("launcher", *places),), settings, (first.identifier,))
        judge = Verdicts(watch, places, reactor, lambda *args: verdicts.put(args))
        judge.begin()
        while is_silent and "b on h" not in said.get(timeout=LONG).getMessage():
            pass
        judge.cut(second, "no route", first, second)
        place, words, fault = verdicts.get(timeout=LONG)
        judge.end()
    assert fault is not None
    assert (place, place.is_silent) == (second, is_silent)
    assert fault.what.startswith(what)
    assert "no route" in words
