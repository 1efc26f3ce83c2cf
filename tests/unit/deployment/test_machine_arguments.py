"""Machines in one word: what each form means, and what is said of any other one."""

from __future__ import annotations

import pytest

from runtime.deployment.machine_argument import (
    Emulation,
    HostArgument,
    parse_emulation,
    parse_hosts,
)


@pytest.mark.parametrize(
    ("text", "sites", "clusters", "ranks"),
    [
        ("2x3x4", 2, 3, 4),
        ("3x4", 1, 3, 4),
        ("4", 1, 1, 4),
        ("2X2", 1, 2, 2),
        ("100x100x10000", 100, 100, 10_000),
    ],
)
def test_what_is_left_out_on_the_left_of_a_shape_is_1(
    text: str, sites: int, clusters: int, ranks: int
) -> None:
    assert parse_emulation(text) == Emulation(sites, clusters, ranks)


@pytest.mark.parametrize("text", ["", "x", "2x", "x2", "2x2x2x2", "2*2", "-1", "2 x 2", "two", "²"])
def test_any_other_shape_is_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(ValueError, match="is not SITESxCLUSTERSxRANKS, CLUSTERSxRANKS or RANKS"):
        parse_emulation(text)


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("lyon", [HostArgument("lyon")]),
        ("lyon:4", [HostArgument("lyon", "", 4)]),
        ("ana@lyon:4,porto:2", [HostArgument("lyon", "ana", 4), HostArgument("porto", "", 2)]),
        ("ana@front.lyon.example", [HostArgument("front.lyon.example", "ana")]),
        ("localhost:2, lyon", [HostArgument("localhost", "", 2), HostArgument("lyon")]),
        ("node[1-3]:8", [HostArgument(f"node{number}", "", 8) for number in (1, 2, 3)]),
        (
            "ana@node[01,10-11]",
            [HostArgument(f"node{number}", "ana") for number in ("01", "10", "11")],
        ),
        ("r[1-2]n[1-2]", [HostArgument(f"r{r}n{n}") for r in (1, 2) for n in (1, 2)]),
        ("[fe80::1]", [HostArgument("fe80::1")]),
        ("ana@[fe80::1%eth0]:4", [HostArgument("fe80::1%eth0", "ana", 4)]),
        ("10.0.0.7:1", [HostArgument("10.0.0.7", "", 1)]),
        ("a,a", [HostArgument("a"), HostArgument("a")]),
        (
            "a:2:python=~/v/bin/python,b",
            [HostArgument("a", ranks=2, python="~/v/bin/python"), HostArgument("b")],
        ),
        (
            "a:mpi=openmpi:python=/odd:path/python",
            [HostArgument("a", mpi="openmpi", python="/odd:path/python")],
        ),
    ],
)
def test_hosts_have_users_ranges_addresses_and_ranks(text: str, hosts: list[HostArgument]) -> None:
    assert list(parse_hosts(text)) == hosts


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "'' has a comma with no host before or behind it"),
        ("a,,b", "'a,,b' has a comma with no host"),
        ("a,", "'a,' has a comma with no host"),
        ("a:", "'' behind the ':' of 'a:' is not a number of ranks"),
        ("a:four", "'four' behind the ':' of 'a:four' is not a number of ranks"),
        ("a:-1", "'-1' behind"),
        ("a:2201", "behind the ':' stands a number of ranks; a port stands in ~/.ssh/config"),
        ("fe80::1:4", "an IPv6 address stands in brackets: [fe80::1]:4"),
        ("@a", "'@a' has no user before its '@'"),
        ("ana@", "'ana@' names no host: the list is empty"),
        (":4", "':4' names no host"),
        ("node[4-1]", "'node[4-1]' names no host: the range 4-1"),
        ("node[1-", "the brackets of 'node[1-' do not match"),
        ("node[1-999999]", "stands for too many names"),
        ("a:2:pyton=x", "'pyton' of 'a:2:pyton=x' is no setting of a host: these are python=PATH"),
        ("a:python=x:python=y", "has two settings python"),
        ("a:python=", "'' of 'a:python=' is not the path of a Python"),
        ("a:mpi=lam", "'lam' is no kind of MPI known here: auto, mpich,"),
        ("localhost:python=x", "names a Python for this machine, where the one runs that runs"),
    ],
)
def test_what_is_wrong_with_a_host_is_said_in_full(text: str, complaint: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the message is what counts
        parse_hosts(text)
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("host", "local"),
    [("localhost", True), ("ana@localhost", False), ("127.0.0.1", False), ("far", False)],
)
def test_localhost_alone_is_this_machine(host: str, local: bool) -> None:
    assert [one.is_local for one in parse_hosts(host)] == [local]
