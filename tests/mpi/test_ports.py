"""Ports and names between groups of one run over several clusters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.commands import gcm_deploy
from tests.grids import Grid, SharedGrid, on

pytestmark = pytest.mark.mpi


@on("2+1")
def test_groups_find_each_other_by_a_name_and_become_one(shared: SharedGrid) -> None:
    said = shared(
        """
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        me = world.rank
        half = world.Split(me == 1, me)
        if me == 0:
            port = MPI.Open_port()
            MPI.Publish_name("ocean", port)
        world.Barrier()
        for turn in range(2):
            if me == 1:
                inter = MPI.COMM_SELF.Connect(MPI.Lookup_name("ocean"))
            else:
                inter = half.Accept(port if me == 0 else None)
            print(inter.rank, inter.size, inter.remote_size, inter.allgather(me * 10))
            inter.Disconnect()
            print(inter == MPI.COMM_NULL)
        if me == 1:
            inter = MPI.COMM_SELF.Connect(MPI.Lookup_name("ocean"))
        else:
            inter = half.Accept(port if me == 0 else None)
        both = inter.Merge(me == 1)
        print(both.allgather(me))
        world.Barrier()
        if me == 0:
            MPI.Unpublish_name("ocean", port)
            MPI.Close_port(port)
        for comm in (both, inter, half):
            comm.Free()
        """
    )
    there, here = "2 1 [10]", "1 2 [0, 20]"
    assert said == {
        0: [f"0 {there}", "True"] * 2 + ["[0, 2, 1]"],
        1: [f"0 {here}", "True"] * 2 + ["[0, 2, 1]"],
        2: [f"1 {there}", "True"] * 2 + ["[0, 2, 1]"],
    }


@on("2+1")
def test_ports_and_names_that_are_not_there_are_errors_of_all_that_ask(shared: SharedGrid) -> None:
    said = shared(
        """
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        def tried(call, *args):
            try:
                call(*args)
            except MPI.Exception as error:
                kinds = ("ERR_PORT", "ERR_NAME", "ERR_SERVICE", "ERR_COMM")
                for kind in kinds:
                    if error.Get_error_class() == getattr(MPI, kind):
                        print(kind, *error.__notes__)
        most = world.Create(world.group.Excl([1]))
        if most:
            tried(most.Connect, "gcm-port:2:5" if world.rank == 0 else None)
            most.Free()
        tried(world.Accept, "another" if world.rank == 0 else None)
        tried(world.Accept, MPI.Open_port())
        if world.rank == 1:
            tried(MPI.COMM_SELF.Accept, "gcm-port:99:5")
            tried(MPI.Lookup_name, "land")
            tried(MPI.Unpublish_name, "land", "port")
            tried(MPI.Close_port, "gcm-port:2:5")
            port = MPI.Open_port()
            MPI.Publish_name("land", port)
            tried(MPI.Publish_name, "land", port)
            MPI.Unpublish_name("land", port)
            world.send(port, 2)
            world.recv(source=2)
            tried(MPI.Close_port, port)
        if world.rank == 2:
            port = world.recv(source=1)
            import threading
            waiting = threading.Thread(target=tried, args=(MPI.COMM_SELF.Accept, port))
            waiting.start()
            tried(MPI.COMM_SELF.Connect, port)
            waiting.join()
            world.send(None, 1)
        """
    )
    closed = (
        "ERR_PORT rank 2 (site0/cluster1 0) on HOST has no port gcm-port:2:5: it is closed, or of"
        " another run"
    )
    all_of_them = [
        "ERR_PORT 'another' is no port of this run",
        "ERR_PORT all ranks of the run are in this group: nobody can come",
    ]
    twice = "ERR_COMM rank 2 (site0/cluster1 0) on HOST is on both sides of PORT"
    assert {rank: [_plain(line) for line in lines] for rank, lines in said.items()} == {
        0: [closed, *all_of_them],
        1: [
            *all_of_them,
            "ERR_PORT gcm-port:99:5 is no port of this run",
            "ERR_NAME nobody in this run has published 'land'",
            "ERR_SERVICE nobody in this run has published 'land'",
            "ERR_PORT gcm-port:2:5 is no open port of this process, but of rank 2",
            "ERR_SERVICE 'land' is published already, for PORT. Unpublish it first",
        ],
        2: [closed, *all_of_them, twice, twice],
    }


def _plain(line: str) -> str:
    """Return a line without the name of this machine, and the number of a port."""
    return re.sub(r"gcm-port:\d+:\d{3,}", "PORT", re.sub(r"\) on \S+", ") on HOST", line))


def test_who_waits_at_a_port_learns_of_deaths_and_that_nobody_is_left(grid: Grid) -> None:
    said = grid(
        "1+1|1",
        """
        import os
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        alone = MPI.COMM_SELF
        if world.rank == 2:
            world.send(MPI.Open_port(), 0)
            world.recv(source=0)
            os._exit(7)
        if world.rank == 0:
            port = world.recv(source=2)
            world.send(None, 2)
            try:
                alone.Connect(port)
            except MPI.Exception as error:
                is_loss = error.Get_error_class() == MPI.ERR_PROC_FAILED
                print(is_loss, error.what.partition(" on ")[0], flush=True)
            try:
                alone.Accept(MPI.Open_port())
            except MPI.Exception as error:
                print(error.Get_error_class() == MPI.ERR_PORT, error.__notes__[0][:18], flush=True)
        """,
        failures="return",
    )
    assert said == {
        0: ["True rank 2 (site1/cluster0 0)", "True nobody is left: th"],
        1: [],
        2: [],
    }


def test_a_wait_at_a_port_is_explained(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "from mpi4py import MPI\n"
        "if MPI.COMM_WORLD.rank == 0:\n"
        "    MPI.COMM_SELF.Accept(MPI.Open_port())\n"
        "MPI.COMM_WORLD.recv(source=0)\n"
    )
    words = ("--emulate", "2x1", "--explain-waits", "1", "--run-timeout", "3", "--quiet")
    told = gcm_deploy(*words, tmp_path / "program.py").stderr
    assert (
        "rank 0 (site0/cluster0 0) is at an MPI call at program.py:3, which waits for somebody who"
        " connects to gcm-port:0:"
    ) in told
