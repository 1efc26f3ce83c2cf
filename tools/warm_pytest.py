"""Run pytest again and again in forks of one warm process, as the mutation runner asks for it.

Most of a short pytest run is the import of pytest, hypothesis, numpy and lxml. This process imports
them once and forks for each request, so that the fork imports only the code under test. It reads
one JSON object a line, `{"arguments": [...], "patience": seconds, "memory": bytes}`, and answers
with one line: pytest's exit code, or `hung`. It ends with its input.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import select
import signal
import sys
from collections.abc import Sequence

HUNG = "hung"
WORTH_WARMING = ("pytest", "hypothesis", "lxml.etree", "numpy")


def serve() -> None:
    """Answer requests until the input ends."""
    for library in WORTH_WARMING:
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    for line in sys.stdin:
        request = json.loads(line)
        print(
            _run_in_fork(request["arguments"], request["patience"], request["memory"]), flush=True
        )


def _run_in_fork(arguments: Sequence[str], patience: float, memory: int) -> str:
    pid = os.fork()
    if pid == 0:
        _become_pytest(arguments, memory)
    handle = os.pidfd_open(pid)
    try:
        ended, _, _ = select.select([handle], [], [], patience)
    finally:
        os.close(handle)
        # Also what the tests started and left.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    return str(os.waitstatus_to_exitcode(status)) if ended else HUNG


def _become_pytest(arguments: Sequence[str], memory: int) -> None:
    code = 1
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        os.close(nowhere)
        code = int(importlib.import_module("pytest").main(list(arguments)))
    finally:
        # Never return into the loop of the parent.
        os._exit(code)


if __name__ == "__main__":
    serve()
