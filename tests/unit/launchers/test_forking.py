from __future__ import annotations

import os
import signal
import threading

import pytest

from runtime.launchers.forking import fork

interrupt_at_fork = threading.local()
"""Whether the hooks of this thread's forks get a Ctrl-C: hooks of a process are for ever."""


def _interrupt() -> None:
    if getattr(interrupt_at_fork, "wanted", False):
        os.kill(os.getpid(), signal.SIGINT)


os.register_at_fork(before=_interrupt, after_in_parent=_interrupt)


def _fork_one_that_writes(pipe: int) -> None:
    if fork() == 0:
        os.write(pipe, b"the child goes on")
        os._exit(0)


def test_an_interrupt_while_a_process_forks_comes_after_the_fork() -> None:
    reading, writing = os.pipe()
    interrupt_at_fork.wanted = True
    try:
        with pytest.raises(KeyboardInterrupt):
            _fork_one_that_writes(writing)
    finally:
        interrupt_at_fork.wanted = False
        os.close(writing)
    with open(reading, "rb") as pipe:
        assert pipe.read() == b"the child goes on"
    os.wait()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_child_of_a_fork_ends_with_a_signal_that_its_parent_handles() -> None:
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        pid = fork()
        if pid == 0:
            os.kill(os.getpid(), signal.SIGTERM)
            os._exit(0)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert os.waitpid(pid, 0) == (pid, signal.SIGTERM)
