"""Where ranks listen for each other, and what each of them is told of the others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.host_addresses import host_addresses
from runtime.membership.bind_address import EVERYWHERE, open_listeners
from tests.commands import gcm_deploy
from tools.on_grids import descriptor

PROGRAM = """
from runtime.membership.everybody import everybody
from runtime.membership.rank_link import current
from runtime.wire import open_connections

class Ear:
    def __init__(self):
        self.heard = []
    def arrived(self, incoming):
        incoming.take()
        self.heard.append(incoming.head.decode())
    def completed(self, incoming):
        pass
    def lost(self, peer, why):
        pass

link = current()
known = everybody(link)
ear = Ear()
post = open_connections(link, ear)
mine = known.me.site, known.me.cluster
far = [
    index
    for index, one in enumerate(known.residents)
    if (one.identifier.site, one.identifier.cluster) != mine
]
for index in far:
    post.send(index, str(known.me).encode())
while len(ear.heard) < len(far):
    post.ready(None)
    post.progress()
print(known.index, *sorted(ear.heard), known.grid.size, flush=True)
post.close()
"""


@pytest.mark.parametrize("transports", [(), ("unix",), ("unix", EVERYWHERE)])
def test_a_rank_listens_at_all_its_transports(tmp_path: Path, transports: tuple[str, ...]) -> None:
    count = len(transports)
    listeners, (machine, addresses) = open_listeners(str(tmp_path), "rank3", transports)
    try:
        assert len(listeners) == count <= len(addresses)
        assert bool(machine) == (count > 0)
        if count:
            assert addresses[0] == f"unix:{tmp_path}/rank3"
        if count > 1:
            host, _, port = addresses[1].rpartition(":")
            assert host == os.uname().nodename
            assert int(port) == listeners[1].getsockname()[1] > 0
            others = [one.rpartition(":") for one in addresses[2:]]
            assert [host for host, _, _ in others] == host_addresses()
            assert {number for _, _, number in others} <= {port}
    finally:
        for listener in listeners:
            listener.close()


def test_a_rank_can_come_again_where_one_was_before(tmp_path: Path) -> None:
    for _ in range(2):
        listeners, (_, addresses) = open_listeners(str(tmp_path), "rank0", ["unix"])
        assert addresses == (f"unix:{tmp_path}/rank0",)
        listeners[0].close()


def test_a_room_with_a_long_name_still_lets_ranks_of_this_machine_in(tmp_path: Path) -> None:
    run_directory = tmp_path / ("x" * 100)
    run_directory.mkdir()
    listeners, (machine, addresses) = open_listeners(str(run_directory), "rank0", ["unix"])
    assert machine
    assert addresses == (f"127.0.0.1:{listeners[0].getsockname()[1]}",)
    listeners[0].close()


@pytest.mark.mpi
def test_every_rank_of_a_grid_reaches_those_of_other_clusters(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "grid.xml").write_text(
        descriptor("2+1", "program.py", (), "cluster"), encoding="utf-8"
    )
    done = gcm_deploy("--quiet", tmp_path / "grid.xml")
    assert done.returncode == 0, done.stdout + done.stderr
    said = sorted(line.split("] ")[-1] for line in done.stdout.splitlines())
    assert said == ["0 0:1:0 3", "1 0:1:0 3", "2 0:0:0 0:0:1 3"]
