"""What is particular to each native MPI, as text: nothing is started."""

from __future__ import annotations

import pytest

from runtime.launchers.mpiexec import mpi_command
from runtime.launchers.mpiexec_choice import PREPARED_PATH
from runtime.launchers.ranks import RANK_NAMES
from runtime.native_mpi import (
    KNOWN,
    MPICH,
    MPICH_WHEEL,
    OPEN_MPI,
    MpiWorld,
    NativeMpi,
    native_mpi,
    native_mpi_of_library,
    native_mpi_of_version,
)

WORLD = MpiWorld(
    ("prog", "arg"),
    3,
    "/opt/mpiexec",
    hosts=[("n1", 2), ("n2", 1)],
    options=("-v",),
    environment={"WORD": "secretive", "GONE": None},
)


@pytest.mark.parametrize("native", KNOWN, ids=lambda one: one.name)
def test_each_says_what_the_package_has_to_know_of_it(native: NativeMpi) -> None:
    assert native.marks
    assert native_mpi(native.name) is native
    assert all(native_mpi_of_version(f"x {mark} 1.2") is native for mark in native.marks)
    assert {*native.rank_variables} & {*RANK_NAMES}, "a rank cannot find its number"
    assert native.signal_words is not None


def test_all_are_started_in_the_same_way_but_for_their_own_options() -> None:
    begin, end = ("/opt/mpiexec", "-n", "3", "--host", "n1:2,n2:1"), ("-v", "prog", "arg")
    assert NativeMpi().argv(WORLD) == (*begin, *end)
    assert MPICH.argv(WORLD) == (*begin, *end)
    assert OPEN_MPI.argv(WORLD) == (*begin, "--tag-output", "-x", "WORD", *end)


def test_open_mpi_hands_each_variable_on_once_and_only_to_other_hosts() -> None:
    here = MpiWorld(("p",), 1, environment={"WORD": "x"})
    assert OPEN_MPI.own_options(here) == ("--tag-output",)
    named = MpiWorld(("p",), 1, options=("--host", "n1", "-x", "A"), environment={"A": "", "B": ""})
    assert OPEN_MPI.own_options(named) == ("--tag-output", "-x", "B")


def test_a_command_hides_an_outer_job_and_lets_root_run() -> None:
    command = mpi_command(WORLD, MPICH, cwd="/there")
    assert command.cwd == "/there"
    assert command.environment == {
        **dict.fromkeys(name for one in KNOWN for name in one.rank_variables),
        PREPARED_PATH: None,
        "WORD": "secretive",
        "GONE": None,
    }
    assert "OMPI_ALLOW_RUN_AS_ROOT" not in mpi_command(WORLD, OPEN_MPI).environment
    root = mpi_command(WORLD, OPEN_MPI, is_root=True)
    assert root.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == "1"
    assert root.environment["PRTE_MCA_hwloc_default_binding_policy"] == "none"


def test_more_ranks_than_cores_are_allowed_where_no_host_has_a_number_of_them() -> None:
    oversubscribed = {"OMPI_MCA_rmaps_base_oversubscribe", "PRTE_MCA_rmaps_default_mapping_policy"}
    here = OPEN_MPI.environment(MpiWorld(("p",), 9), is_root=False)
    assert oversubscribed < here.keys()
    assert not oversubscribed & OPEN_MPI.environment(WORLD, is_root=False).keys()


def test_none_leaves_files_behind_where_it_is_killed() -> None:
    assert MPICH.tidiness("/room", {}) == {"HWLOC_XMLFILE": ""}
    assert MPICH.tidiness("/room", {"HWLOC_XMLFILE": "/t"}) == {"HWLOC_XMLFILE": "/t"}
    assert OPEN_MPI.tidiness("", {}) == {}
    assert set(OPEN_MPI.tidiness("/room", {}).values()) == {"/room", ""}


def test_ranks_of_open_mpi_on_one_host_do_without_tcp_unless_a_user_has_chosen() -> None:
    assert OPEN_MPI.without_network({}) == {"OMPI_MCA_btl": "^tcp"}
    assert OPEN_MPI.without_network({"OMPI_MCA_btl": "self,tcp"}) == {}
    assert OPEN_MPI.without_network({"PRTE_MCA_prte_default_hostfile": "/hosts"}) == {}
    assert MPICH.without_network({}) == {}


@pytest.mark.parametrize("name", ["HYDRA_BINDING", "HYDRA_HOST_FILE", "I_MPI_ROOT"])
def test_our_process_manager_stands_in_for_hydra_unless_a_user_has_set_what_hydra_does(
    name: str,
) -> None:
    assert MPICH.is_managed({"HYDRA_BOOTSTRAP": "slurm", name: ""})
    assert not MPICH.is_managed({name: "core"})
    assert not OPEN_MPI.is_managed({})


@pytest.mark.parametrize(
    ("native", "words", "number"),
    [
        (MPICH, "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)", 9),
        (OPEN_MPI, "mpiexec noticed that process rank 1 exited on signal 11 (Segv).", 11),
        (MPICH, "exited on signal 11", 0),
        (NativeMpi(), "(signal 9)", 0),
    ],
)
def test_the_signal_of_a_dead_rank_is_read(native: NativeMpi, words: str, number: int) -> None:
    assert native.signal_in(words) == number


def test_what_hydra_says_of_itself_is_no_reason() -> None:
    lines = ["[mpiexec@n1] control_cb (...): assert failed", "ssh: no route to n2"]
    assert MPICH.reason_in(lines) == "ssh: no route to n2"
    assert OPEN_MPI.reason_in(lines) == lines[0]
    assert NativeMpi().reason_in([]) == ""


def test_the_library_tells_what_a_descriptor_does_not() -> None:
    assert native_mpi_of_library("auto", "Open MPI v5.0.6, package: x") is OPEN_MPI
    assert native_mpi_of_library("mpich", "Open MPI v5.0.6") is MPICH
    assert native_mpi_of_library("auto", "").name == "auto"


def test_a_wheel_is_the_mpi_that_it_has_and_found_nowhere() -> None:
    assert native_mpi("mpich-wheel") is MPICH_WHEEL
    assert MPICH_WHEEL.argv(WORLD) == MPICH.argv(WORLD)
    assert (MPICH_WHEEL.brings, MPICH.brings, MPICH_WHEEL in KNOWN) == ("mpich", "", False)


def test_a_world_that_cannot_run_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one rank, not 0"):
        MpiWorld(("a",), 0)
    with pytest.raises(ValueError, match="3 ranks do not fit on hosts for 2"):
        MpiWorld(("a",), 3, hosts=[("n", 2)])
