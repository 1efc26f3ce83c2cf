"""A stranger at each entrance of a real run: nothing is told, invoked or unpickled."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.grid import EmulatedGrid
from runtime.transport.credentials import NUMBER_OF_MEMBER, PROOF_OF_MEMBER, Credentials
from runtime.transport.errors import AuthenticationFailed
from runtime.transport.lean import dial
from runtime.transport.pyro_messages import CONNECTED, REFUSED, MessageReader
from runtime.transport.transports import socket_for
from tools.on_grids import ROOT

if TYPE_CHECKING:
    from tests.security.conftest import Run

pytestmark = pytest.mark.mpi

STRANGER = Path(__file__).with_name("stranger.py")
LISTENS = "0A"
ACCEPTS = 0x10000
INSPECTION = f"unix:@gcm-deploy/{os.getuid()}/"
RECORDS_OF_TLS = (b"\x15\x03", b"\x16\x03")


# --- where a run listens --------------------------------------------------------------------------


def entrances(run: Run) -> dict[str, int]:
    """Return the address of every socket at which a process of the run listens, and the process.

    Left out is what native MPI opened, in `mpiexec`, whose children have it too, and in the ranks.
    """
    found, mpis = {}, set()
    for pid in run.processes():
        for descriptor, address in listening(pid):
            if run.is_mpis(pid):
                mpis.add(address)
            elif pid not in run.ranks or descriptor in run.ranks[pid]:
                found[address] = pid
    return {address: pid for address, pid in found.items() if address not in mpis}


def listening(pid: int) -> Iterator[tuple[int, str]]:
    sockets = {}
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            sockets[os.readlink(entry)] = int(entry.name)
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == LISTENS and (held := sockets.get(f"socket:[{words[9]}]")):
            host, port = words[1].split(":")
            yield held, f"{socket.inet_ntoa(struct.pack('=I', int(host, 16)))}:{int(port, 16)}"
    for line in Path(f"/proc/{pid}/net/unix").read_text().splitlines()[1:]:
        words = line.split()
        if int(words[3], 16) & ACCEPTS and (held := sockets.get(f"socket:[{words[6]}]")):
            yield held, f"unix:{words[7]}"


# --- what strangers have --------------------------------------------------------------------------


def record(address: str, known: Credentials, peer: str) -> bytes:
    """Return what a real member says in its handshake, taken down on the way."""
    taken = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as between:

        def carry() -> None:
            here, _ = between.accept()
            bare, where = socket_for(address)
            there = socket.socket(fileno=bare.detach())
            there.connect(where)
            with there, here:
                back = threading.Thread(target=copy, args=(there, here, None))
                back.start()
                copy(here, there, taken)
                back.join()

        carrier = threading.Thread(target=carry)
        carrier.start()
        made, _, _ = dial(f"127.0.0.1:{between.getsockname()[1]}", known, peer=peer)
        made.close()
        carrier.join()
    return bytes(taken)


def copy(source: socket.socket, sink: socket.socket, taken: bytearray | None) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(4096):
            if taken is not None:
                taken += data
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def whose(forwarder: str, known: Credentials) -> str:
    """Return to which cluster the front-end belongs that forwards at an address."""
    for cluster in ("0:0", "1:0"):
        with contextlib.suppress(AuthenticationFailed):
            dial(forwarder, known, peer=cluster)[0].close()
            return cluster
    raise AssertionError(forwarder)


# --- what they may get ----------------------------------------------------------------------------


def is_harmless(got: bytes) -> bool:
    """Whether an answer says no more than that only members are let in."""
    if not got or got.startswith((b"refused: ", *RECORDS_OF_TLS)):
        return True
    reader = MessageReader(100_000)
    reader.feed(got)
    while (message := reader.take()) is not None:
        told = message.annotations.keys()
        if PROOF_OF_MEMBER in told or message.kind not in (CONNECTED, REFUSED):
            return False
        if message.kind == CONNECTED and set(told) != {NUMBER_OF_MEMBER}:
            return False
    return reader.rest == b""


def attack(
    start: list[str], addresses: list[str], recorded: dict[str, bytes], folder: Path
) -> dict[str, dict[str, bytes]]:
    """Let a stranger try all addresses; return what it got."""
    trap = folder / "sprung"
    told = {
        "addresses": addresses,
        "recorded": {name: one.hex() for name, one in recorded.items()},
        "trap": str(trap),
    }
    done = subprocess.run(
        [*start, sys.executable, str(STRANGER)],
        input=json.dumps(told) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not trap.exists()
    found = json.loads(done.stdout)
    return {
        address: {name: bytes.fromhex(one) for name, one in got.items()}
        for address, got in found.items()
    }


def harmful(found: dict[str, dict[str, bytes]]) -> list[str]:
    return [
        f"{address}: {name}: {got!r}"
        for address, answers in found.items()
        for name, got in answers.items()
        if not is_harmless(got)
    ]


def test_strangers_of_this_machine_get_nothing(local_run: Run, tmp_path: Path) -> None:
    # Who asks what the run is doing has to be the same user, as the system says, or root.
    addresses = [one for one in entrances(local_run) if not one.startswith(INSPECTION)]
    assert all(one.startswith("unix:") for one in addresses)
    names = {Path(one).name for one in addresses}
    assert names >= {"launcher", "forwarder", "rank0", "rank1"}
    for one in addresses:
        place = Path(one.removeprefix("unix:"))
        assert place.is_relative_to(local_run.temporary)
        assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
        assert place.parent.stat().st_uid == os.geteuid()
    known = local_run.known()
    assert known.certificate == b""
    forwarder = next(one for one in addresses if one.endswith("forwarder"))
    recorded = {"a member": record(forwarder, known, whose(forwarder, known))}
    # What listens at `ranks` starts ranks for whoever the folder lets in, which is the user alone.
    tried = [one for one in addresses if not one.endswith("/ranks")]
    assert harmful(attack([], tried, recorded, tmp_path)) == []
    _, errors = local_run.end()
    assert "Traceback" not in errors


@pytest.mark.needs_root
def test_strangers_of_another_host_get_nothing(
    grid_run: Run, emulated: EmulatedGrid, tmp_path: Path
) -> None:
    hosts = {os.readlink(f"/proc/{pid}/ns/net"): "" for pid in grid_run.processes()}
    for one in list(emulated.clusters.values())[:2]:
        told = emulated.run(one.name, ["readlink", "/proc/self/ns/net"], timeout=10).stdout
        hosts[told.strip()] = one.address
    addresses = []
    for found, pid in entrances(grid_run).items():
        where, _, port = found.rpartition(":")
        if where == "0.0.0.0":
            addresses.append(f"{hosts[os.readlink(f'/proc/{pid}/ns/net')]}:{port}")
        else:
            assert where.startswith("unix")
    assert len(addresses) == 6  # two front-ends and four ranks
    keys, certificate = grid_run.secrets()
    assert "BEGIN CERTIFICATE" in certificate
    start = emulated.inside("c2", [])
    assert harmful(attack(start, addresses, {}, tmp_path)) == []
    _, errors = grid_run.end()
    assert "Traceback" not in errors
    assert not any(key.hex() in errors for key in keys)
