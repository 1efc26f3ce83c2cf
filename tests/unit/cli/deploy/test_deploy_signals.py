"""What a signal does to a run, and how what is logged gets printed."""

from __future__ import annotations

import logging
import os
import signal

import pytest

from runtime.cli.screens.watch import GIVE_UP_SECONDS, EndSignals, LogLines


class Run:
    """What is printed, and what reached the run."""

    def __init__(self, seconds: float = GIVE_UP_SECONDS) -> None:
        self.words: list[str] = []
        self.presses = 0
        self.given_up: list[int] = []
        self.ending = EndSignals(
            self.words.append, self._press, self.given_up.append, seconds=seconds
        )

    def _press(self) -> None:
        self.presses += 1

    def said(self) -> list[str]:
        self.ending.over()
        return self.words


def test_the_first_signal_stops_and_the_second_ends_at_once() -> None:
    run = Run()
    before = signal.getsignal(signal.SIGINT)
    with run.ending.awaited():
        os.kill(os.getpid(), signal.SIGINT)
        assert (run.ending.code, run.presses) == (130, 1)
        os.kill(os.getpid(), signal.SIGINT)
        assert (run.ending.code, run.presses, run.given_up) == (130, 2, [])
    assert signal.getsignal(signal.SIGINT) is before
    assert run.said() == [
        "gcm-deploy: stopping; press Ctrl-C again to end everything at once",
        "gcm-deploy: ending everything at once",
    ]


def test_the_third_signal_gives_up_what_does_not_end() -> None:
    run = Run()
    with run.ending.awaited():
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGINT)
        assert run.given_up == [130]
    assert len(run.said()) == 2


def test_what_does_not_end_by_itself_is_given_up_in_time() -> None:
    run = Run(seconds=0.01)
    with run.ending.awaited():
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        assert run.ending._last is not None
        run.ending._last.join()
        assert run.given_up == [143]
    run.said()


def test_a_signal_is_no_second_one_where_the_run_is_ending_for_another_reason() -> None:
    run = Run()
    with run.ending.awaited():
        run.ending.end()
        run.ending.end()
        os.kill(os.getpid(), signal.SIGHUP)
        assert (run.ending.code, run.presses) == (129, 1)
        os.kill(os.getpid(), signal.SIGINT)
        assert run.presses == 2
    run.said()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_other_signals_end_a_run_too_and_give_their_own_code(number: int, code: int) -> None:
    run = Run()
    with run.ending.awaited():
        os.kill(os.getpid(), number)
    assert (run.ending.code, run.presses) == (code, 1)
    assert run.said() == [f"gcm-deploy: stopping on {signal.Signals(number).name}"]


def test_a_signal_that_was_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    run = Run()
    try:
        with run.ending.awaited():
            os.kill(os.getpid(), signal.SIGHUP)
        assert (run.ending.code, run.presses) == (None, 0)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert run.said() == []


def test_without_a_signal_there_is_no_code() -> None:
    run = Run()
    with run.ending.awaited():
        pass
    assert run.ending.code is None
    assert run.said() == []


def test_warnings_of_the_runtime_are_printed_like_everything_else() -> None:
    shown: list[str] = []
    log = LogLines(shown.append)
    with log.attached():
        logging.getLogger("runtime.some.part").warning("odd: %s", 3)
        logging.getLogger("runtime.some.part").info("not worth a line")
    logging.getLogger("runtime.some.part").setLevel(logging.NOTSET)
    assert shown == ["gcm-deploy: odd: 3"]
    assert log not in logging.getLogger("runtime").handlers


def test_what_is_less_important_is_printed_where_somebody_wants_that() -> None:
    shown: list[str] = []
    with LogLines(shown.append, "info").attached():
        logging.getLogger("runtime.some.part").info("the run: %s -> %s", "planned", "starting")
        logging.getLogger("runtime.some.part").debug("not worth a line")
    logging.getLogger("runtime.some.part").info("nobody listens any more")
    assert shown == ["gcm-deploy: the run: planned -> starting"]
