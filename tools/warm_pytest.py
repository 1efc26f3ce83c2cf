"""Run pytest again and again in forks of one warm process, as the mutation runner asks for it.

Most of a short pytest run is the import of pytest, hypothesis, numpy and lxml. This process imports
them once and forks for each request, so that the fork imports only the code under test. It reads
one JSON object a line, `{"arguments": [...], "patience": seconds, "memory": bytes, "output": file}`
and answers with one line: pytest's exit code, or `hung`. With `"lines": [file, package]` the run
also writes its line map. It ends with its input.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import runpy
import select
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HUNG = "hung"
WORTH_WARMING = ("pytest", "hypothesis", "lxml.etree", "numpy", "coverage")


def serve() -> None:
    """Answer requests until the input ends."""
    for library in WORTH_WARMING:
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    for line in sys.stdin:
        print(_run_in_fork(json.loads(line)), flush=True)


def _run_in_fork(request: Mapping[str, Any]) -> str:
    pid = os.fork()
    if pid == 0:
        _become_pytest(request)
    handle = os.pidfd_open(pid)
    try:
        ended, _, _ = select.select([handle], [], [], request["patience"])
    finally:
        os.close(handle)
        # Also what the tests started and left.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    return str(os.waitstatus_to_exitcode(status)) if ended else HUNG


def _become_pytest(request: Mapping[str, Any]) -> None:
    code = 1
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for descriptor in (1, 2):
            os.dup2(output, descriptor)
        plugins = []
        if "lines" in request:
            # By its place: the folder of this file is not on the path of the code under test.
            plugins.append(_line_map_class()(*request["lines"]))
        code = int(importlib.import_module("pytest").main(request["arguments"], plugins))
    finally:
        # Never return into the loop of the parent.
        os._exit(code)


def _line_map_class() -> Any:
    return runpy.run_path(str(Path(__file__).with_name("line_map.py")))["LineMap"]


if __name__ == "__main__":
    serve()
