"""What a process pays for at its start: a rank imports little, a front-end nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tools.on_grids import ROOT


def imported(module: str, then: str = "pass") -> set[str]:
    told = subprocess.run(
        [sys.executable, "-S", "-c", f"import {module}, sys; {then}; print(*sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(told.stdout.split())


def test_a_rank_imports_nothing_but_what_it_needs() -> None:
    loaded = imported("runtime.transport.lean")
    heavy = {"dataclasses", "threading", "logging", "inspect", "traceback", "random"}
    heavy |= {"hmac", "_hashlib", "socket", "selectors", "ssl"}
    assert not loaded & heavy
    assert not {name for name in loaded if name.split(".")[0] == "gcm"}
    assert {name for name in loaded if name.startswith("runtime")} == {
        "runtime",
        "runtime.errors",
        "runtime.part_names",
        "runtime.transport",
        "runtime.transport.credentials",
        "runtime.transport.encryption",
        "runtime.transport.errors",
        "runtime.transport.frames",
        "runtime.transport.keyed_hash",
        "runtime.transport.keys",
        "runtime.transport.lean",
        "runtime.transport.messages",
        "runtime.transport.passage",
        "runtime.transport.plain_data",
        "runtime.transport.pyro_messages",
        "runtime.transport.round_trip",
        "runtime.transport.transports",
    }


def test_what_becomes_a_rank_does_without_typing() -> None:
    assert not imported("runtime.processes.rank.main") & {"typing", "dataclasses", "importlib"}


@pytest.mark.parametrize("module", ["runtime.hosting.host", "runtime.hosting.node"])
def test_a_process_that_hosts_components_imports_nothing_heavy(module: str) -> None:
    heavy = {"lxml", "numpy", "rich", "Pyro5", "mpi4py", "asyncio", "ssl", "multiprocessing"}
    assert not imported(module) & heavy


@pytest.mark.parametrize(("level", "is_imported"), [("info", False), ("warning", True)])
def test_a_line_that_nobody_would_see_does_not_import_logging(
    level: str, is_imported: bool
) -> None:
    loaded = imported(
        "runtime.lazy_import",
        f"runtime.lazy_import.logger('x').{level}('%s: open', 'rank 1', exc_info=1)",
    )
    assert ("logging" in loaded) is is_imported
