"""The job of a cluster: its parts, and the command of a rank that says all of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runtime.native_mpi import Job, JobPart, ManagedRanks, RankProgram, RankProxy
from runtime.processes.rank.options import RankOptions

PLAIN = RankProgram(
    "python3", "0:1", "code", "script", "a.py", ("x", "--", "y"), run_directory="/r"
)
FULL = replace(
    PLAIN,
    comm_world="cluster",
    failures="return",
    recovery="rebuild",
    recovery_messages="kept",
    replicas=2,
    restart=True,
    shim="/cache/shim.so",
    umask=0o27,
)
HOSTS = (("n1", 2), ("n2", 1))


@pytest.mark.parametrize("program", [PLAIN, FULL], ids=["plain", "full"])
@pytest.mark.parametrize("kind", ["script", "module", "executable"])
def test_a_rank_reads_what_its_job_says(program: RankProgram, kind: str) -> None:
    program = replace(program, kind=kind)
    job = Job(program, 3)
    start, words = job.rank_argv(job.parts[0])[:4], job.rank_argv(job.parts[0])[4:]
    assert start == ("python3", "-P", "-m", "runtime.rank")
    options = RankOptions(list(words))
    same = vars(options).keys() & set(RankProgram.__slots__)
    assert same == {
        *("application", "arguments", "cluster", "kind", "path"),
        *("run_directory", "shim", "umask"),
    }
    for name in same - {"arguments"}:
        assert getattr(options, name) == getattr(program, name), name
    assert options.arguments == list(program.arguments)
    assert options.goes_on is program.goes_on
    assert (options.first, options.is_again) == (None, False)


def test_all_ranks_are_one_part_unless_the_others_survive_a_lost_host() -> None:
    assert Job(PLAIN, 3).parts == (JobPart(0, 3),)
    assert Job(PLAIN, 3, hosts=HOSTS).parts == (JobPart(0, 3, HOSTS),)
    assert Job(FULL, 3).parts == (JobPart(0, 3),)
    assert Job(FULL, 3, hosts=HOSTS).parts == (
        JobPart(0, 2, (("n1", 2),)),
        JobPart(2, 1, (("n2", 1),)),
    )


def test_a_rank_is_told_where_the_ranks_of_its_host_begin() -> None:
    job = Job(FULL, 3, hosts=HOSTS)
    options = RankOptions(list(job.rank_argv(job.parts[1])[4:]))
    assert (options.first, options.stays) == (2, True)


@pytest.mark.parametrize(("host", "has_mpiexec"), [("", False), ("n3", True)])
def test_a_restarted_rank_is_a_world_of_its_own(host: str, has_mpiexec: bool) -> None:
    proxy = RankProxy("/proxy.py", "/r/ranks")
    job = Job(replace(FULL, proxy=proxy), 3, hosts=HOSTS if host else ())
    part = job.restarted(2, 4, host)
    assert (part.host, part.has_mpiexec, part.is_restarted) == (host, has_mpiexec, True)
    world = job.world(part)
    assert (world.ranks, world.hosts) == (1, ((host, 1),) if host else ())
    options = RankOptions(list(world.argv[4:]))
    assert (options.rank, options.incarnation, options.is_again) == (2, 4, True)
    assert options.stays is has_mpiexec


def test_ranks_that_part_are_started_by_their_stand_ins() -> None:
    job = Job(replace(PLAIN, proxy=RankProxy("/s.py", "/r/ranks")), 2)
    forked, plain = job.rank_argv(job.parts[0]), Job(PLAIN, 2).rank_argv(JobPart(0, 2))
    start = ("python3", "-I", "-S", "/s.py", "/r/ranks", "runtime.rank")
    assert forked == (*start, *plain[4:])


def test_options_that_name_hosts_count() -> None:
    assert not Job(PLAIN, 1, options=("-v",)).is_elsewhere
    assert Job(PLAIN, 1, options=("--host", "n1")).is_elsewhere
    assert Job(PLAIN, 1, hosts=HOSTS).is_elsewhere


def test_the_job_decides_about_its_environment() -> None:
    job = Job(PLAIN, 1, environment={"A": "1"})
    assert job.world(job.parts[0], {"A": "0", "B": "2"}).environment == {"A": "1", "B": "2"}


def test_the_process_manager_of_each_host_is_told_which_ranks_are_there() -> None:
    job = Job(PLAIN, 5, hosts=(("n1", 2), ("n2", 2), ("n3", 4)))
    told = job.managed_on_hosts(job.parts[0], "kvs")
    assert [(one.before, one.ranks, one.size, one.hosts) for one in told] == [
        (0, 2, 5, (2, 2, 1)),
        (2, 2, 5, (2, 2, 1)),
        (4, 1, 5, (2, 2, 1)),
    ]
    assert {(one.name, one.reports_to, one.fork_server) for one in told} == {("kvs", "", "")}
    options = RankOptions(list(told[1].words))
    assert (options.has_manager, options.is_on_one_host, options.stays) == (True, False, False)


def test_ranks_of_one_host_are_told_where_they_are_forked_and_who_hears_of_their_ends() -> None:
    job = Job(replace(PLAIN, proxy=RankProxy("/s.py", "/r/ranks")), 2)
    told = job.managed(job.parts[0], tells_ends=True)
    assert (told.fork_server, told.reports_to, told.size) == ("/r/ranks", "/r", 2)
    assert told.start == ("python3", "-P", "-m", "runtime.rank")
    assert ManagedRanks.parse(told.line) == told
    assert RankOptions(list(told.words)).is_on_one_host
    assert job.managed(job.parts[0], tells_ends=False).reports_to == ""
