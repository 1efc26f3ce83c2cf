"""A dialogue with the probe on one host, over any launcher."""

from __future__ import annotations

import json
import os
import queue
import shlex
import time
from collections.abc import Sequence
from typing import Any

from runtime.deployment import SshHop, over_ssh
from runtime.doctor.records import ANSWERS, fits
from runtime.launchers.base import Command, Launcher, OutputStream
from runtime.launchers.bootstrap import read_source
from runtime.launchers.errors import LaunchError, StillRunning
from runtime.launchers.lines import Lines
from runtime.launchers.ssh_faults import diagnose
from runtime.shown_text import shown

_HERE = os.path.dirname(os.path.abspath(__file__))
_PROBE = os.path.join(_HERE, "probe.py")
_NEEDED = ("runtime.linked_mpi", "runtime.launchers.mpiexec_choice")

MOST_LINES = 64
"""Lines of a host that wait to be read; a probe prints one for each question."""

SSH_ENDED = 255
"""The exit code of an ssh client that could not connect."""


def _program() -> str:
    """Return the source of the probe, with the modules that it needs and a host may not have."""
    home = os.path.dirname(os.path.dirname(_HERE))
    lines = ["import sys"]
    for name in _NEEDED:
        text = read_source(os.path.join(home, *name.split(".")) + ".py")
        lines += [f"sys.modules[{name!r}] = module = type(sys)({name!r})",
                  f"exec(compile({text!r}, {name!r}, 'exec'), module.__dict__)"]  # fmt: skip
    lines.append(f"exec(compile({read_source(_PROBE)!r}, 'probe', 'exec'), globals())")
    return "\n".join(lines)


class Conversation:
    """Sends questions to one probe and returns its answers.

    With `node` the probe runs on that host, which the launcher's host reaches over ssh as `mpiexec`
    does.
    """

    def __init__(self, launcher: Launcher, python: str, *, node: str = "") -> None:
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._python = python
        self._node = node
        self._place = f"{launcher.place}, node {node}" if node else launcher.place
        argv: Sequence[str] = (python, "-c", _program())
        if node:
            argv = over_ssh((SshHop(node, options=("-o", "ConnectTimeout=10")),), argv)
        self._process = launcher.start(Command(argv), Lines(self._line_read))
        self._process.when_done(lambda: self._lines.put(None))

    def ask(self, timeout: float, **question: Any) -> Any:
        """Return the answer to a question; raises LaunchError, such as StillRunning."""
        self._process.write(json.dumps(question).encode() + b"\n", timeout)
        deadline = time.monotonic() + timeout
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise StillRunning(
                    f"no answer within {timeout:g} s",
                    place=self._place,
                    cause="\n".join(self._process.tail),
                    cure="See whether the host is overloaded, or allow more time with --timeout",
                ) from None
            if line is None:
                raise self._why_it_ended()
            try:
                answer = json.loads(line)
            except (ValueError, RecursionError):
                continue  # output of a start-up file
            if fits(answer, ANSWERS[question["do"]]):
                return answer
            self._process.kill()
            raise LaunchError(
                f"the probe answers what makes no sense: {shown(line)}",
                place=self._place,
                cure=f"See whether {shlex.quote(self._python)} is a Python there",
            )

    def close(self) -> None:
        """End the dialogue; the probe exits."""
        self._process.close_input()

    def _line_read(self, stream: OutputStream, line: str) -> None:
        if stream is OutputStream.OUTPUT and self._lines.qsize() < MOST_LINES:
            self._lines.put(line)

    def _why_it_ended(self) -> LaunchError:
        try:
            ended = self._process.wait(0)
        except LaunchError as fault:
            return fault
        if self._node and ended.code == SSH_ENDED:
            return diagnose(self._place, ended, self._process.tail)
        return LaunchError(
            f"the probe ended ({ended})",
            place=self._place,
            cause="\n".join(self._process.tail),
            cure=f"Run a small program there by hand: {shlex.quote(self._python)} -c 'print(1)'",
        )
