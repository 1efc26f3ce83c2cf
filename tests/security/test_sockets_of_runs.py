"""Each socket of a run on one host is in a row of docs/security.md: `ss` says what there is."""

from __future__ import annotations

import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from runtime.launchers.family import descendants, processes
from tests.security.test_native_mpi_listens_nowhere import running
from tools.on_grids import ROOT

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(shutil.which("ss") is None, reason="needs ss (apt install iproute2)"),
]

HEADING = "### Every socket of a run on one host"
STREAM_OR_DATAGRAMS = ("u_str", "u_dgr", "u_seq")


def rows() -> list[tuple[str, str]]:
    """Return the pattern of each row, and what its sockets are called in the table."""
    page = (Path(ROOT) / "docs" / "security.md").read_text()
    part = page.partition(HEADING)[2].partition("\n#")[0]
    names = re.findall(r"^\| `([^`]+)` \|", part, re.MULTILINE)
    return [(name, _pattern(name)) for name in names]


def _pattern(name: str) -> str:
    words = {"UID": r"\d+", "PID": r"\d+", "N": r"\d+", "HEX": "[0-9a-f]+"}
    return re.sub(
        "|".join(words), lambda found: words[found[0]], re.escape(name).replace(r"\*", "[^/]*")
    )


def sockets(root: int) -> dict[str, set[str]]:
    """Return the addresses at which a process and what descends from it can be reached, by kind."""
    pids = {root} | descendants({root}, processes())
    found: dict[str, set[str]] = {}
    for options in ("-tlnpH", "-ulnpH", "-xlpH"):
        told = subprocess.run(["ss", options], capture_output=True, text=True, check=True).stdout
        for line in told.splitlines():
            if any(f"pid={pid}," in line for pid in pids):
                words = line.split()
                is_local = words[0] in STREAM_OR_DATAGRAMS
                kind = "unix" if is_local else options[1]
                found.setdefault(kind, set()).add(words[4] if is_local else words[3])
    return found


@pytest.mark.parametrize("words", [("-n", "4"), ("--emulate", "2x2x2")], ids=" ".join)
def test_every_socket_of_a_run_is_in_the_table_and_lies_where_it_says(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    known = rows()
    assert known
    with running(tmp_path, *words) as process:
        found = sockets(process.pid)
        for address in found["unix"]:
            if not address.startswith("@"):
                assert stat.S_IMODE(Path(address).parent.stat().st_mode) == 0o700
        process.communicate("\n", timeout=60)
    assert found.keys() == {"unix"}  # no other host can send anything
    names: dict[str, set[str]] = {}
    for address in found["unix"]:
        shown = address if address.startswith("@") else "/".join(address.split("/")[-2:])
        names.setdefault(
            next((name for name, pattern in known if re.fullmatch(pattern, shown)), shown), set()
        ).add(address)
    assert names.keys() <= {name for name, _ in known}
    assert {"gcm-*/launcher", "gcm-*/ranks", "@gcm-deploy/UID/PID"} <= names.keys()
    if "--emulate" in words:
        assert len(names["gcm-*/rankN"]) == 8
