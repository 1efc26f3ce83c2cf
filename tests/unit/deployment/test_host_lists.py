"""Lists of names with ranges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.deployment.hosts import (
    MOST_NAMES,
    HostListError,
    NotAHostError,
    expand_hosts,
    expand_names,
    measure_hosts,
)
from runtime.deployment.machine_argument import parse_hosts


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("a", "a"),
        (" a  b,c , d ", "a b c d"),
        ("node[01-03,20]", "node01 node02 node03 node20"),
        ("node[9-11]", "node9 node10 node11"),
        ("n[5]", "n5"),
        ("n[3-3]x", "n3x"),
        ("r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"),
        ("a/b/n[1, 3]", "a/b/n1 a/b/n3"),
        ("n[098-100]", "n098 n099 n100"),
        ("b a b", "b a b"),
        ("node[0-9;2]", "node0 node2 node4 node6 node8"),
        ("node[00-10;5]", "node00 node05 node10"),
        ("node[0-9]^[3-5]", "node0 node1 node2 node6 node7 node8 node9"),
        ("node[0-5]^[1]", "node0 node2 node3 node4 node5"),
        ("node[00-08;2,20]^[4, 6-9]b", "node00b node02b node20b"),
        ("node[0-2]^[7]", "node0 node1 node2"),
        ("r[0-1]n[0-2]^[1] gate", "r0n0 r0n2 r1n0 r1n2 gate"),
    ],
)
def test_a_list_stands_for_its_names_in_order(written: str, names: str) -> None:
    assert expand_names(written) == tuple(names.split())


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "the list is empty"),
        (" , ", "the list is empty"),
        ("node[5-3]", "the range 5-3 in 'node[5-3]' is empty: it ends before it begins"),
        ("n[a-b]", "'a-b' in 'n[a-b]' is neither a number nor a range like 01-16 or 0-9;2"),
        ("n[1,]", "'' in 'n[1,]' is neither a number nor a range like 01-16 or 0-9;2"),
        ("n[]", "'' in 'n[]' is neither a number nor a range like 01-16 or 0-9;2"),
        ("n[1-2-3]", "'1-2-3' in 'n[1-2-3]' is neither a number nor a range like 01-16 or 0-9;2"),
        ("n[1;2]", "'1;2' in 'n[1;2]' is neither a number nor a range like 01-16 or 0-9;2"),
        ("n[0-9;0]", "the step of '0-9;0' in 'n[0-9;0]' is 0; the least is 1"),
        ("n[0-3]^[]", "'' in 'n[0-3]^[]' is neither a number nor a range like 01-16 or 0-9;2"),
        ("n[0-3]^[0-3]", "'n[0-3]^[0-3]' leaves out every number that it names"),
        (
            "a[1,2,3]^",
            "'^' in 'a[1,2,3]^' leaves out numbers of the range before it: write node[0-9]^[3-5]",
        ),
        (
            "a^[1]",
            "'^' in 'a^[1]' leaves out numbers of the range before it: write node[0-9]^[3-5]",
        ),
        (
            f"n[0-9]^[0-{'9' * 60}]",
            f"'n[0-9]^[0-{'9' * 60}]' stands for too many names; the most is 100000",
        ),
        ("n[1", "the brackets of 'n[1' do not match"),
        ("n1]", "the brackets of 'n1]' do not match"),
        ("n[[1]]", "the brackets of 'n[[1]]' do not match"),
        ("n[0-100000]", "'n[0-100000]' stands for too many names; the most is 100000"),
        (
            "n[1-1001]x[1-100]",
            "'n[1-1001]x[1-100]' stands for too many names; the most is 100000",
        ),
        ("a n[1-100000]", "'n[1-100000]' stands for too many names; the most is 100000"),
    ],
)
def test_a_list_that_cannot_be_read_says_why(written: str, message: str) -> None:
    with pytest.raises(HostListError) as caught:
        expand_names(written)
    assert str(caught.value) == message


def test_the_largest_list_is_allowed() -> None:
    assert len(expand_names(f"n[1-{MOST_NAMES}]")) == MOST_NAMES


@given(st.integers(0, 500), st.integers(0, 50), st.integers(1, 6))
def test_a_range_counts_from_its_first_to_its_last_number(
    first: int, more: int, width: int
) -> None:
    names = expand_names(f"n[{first:0{width}}-{first + more}]")
    assert [int(name[1:]) for name in names] == list(range(first, first + more + 1))
    assert all(len(name) - 1 >= width for name in names)


@given(st.integers(0, 99), st.integers(0, 40), st.integers(1, 7), st.sets(st.integers(0, 140)))
def test_steps_and_exclusions_are_those_of_a_set(
    first: int, more: int, step: int, left_out: set[int]
) -> None:
    meant = [n for n in range(first, first + more + 1, step) if n not in left_out]
    without = f"^[{','.join(map(str, left_out))}]" if left_out else ""
    written = f"n[{first}-{first + more};{step}]{without}"
    if meant:
        assert expand_hosts(written) == tuple(f"n{number}" for number in meant)
        assert measure_hosts(written) == len(meant)
    else:
        with pytest.raises(HostListError, match="leaves out every number"):
            expand_hosts(written)


@given(st.text(alphabet="n0159[]-,;^: ", max_size=14))
def test_any_text_is_either_read_or_refused(text: str) -> None:
    try:
        names = expand_names(text)
    except HostListError:
        return
    assert names
    assert not any(set(name) & set("[]^, ") for name in names)


@given(st.text(alphabet="n01[]-,;^.:%@ ", max_size=14))
def test_a_list_of_hosts_is_measured_as_it_is_expanded(text: str) -> None:
    answers = []
    for read in (measure_hosts, lambda text: len(expand_hosts(text))):
        try:
            answers.append(str(read(text)))
        except HostListError as fault:
            answers.append(type(fault).__name__)
    assert answers[0] == answers[1]


@pytest.mark.parametrize("written", ["::1", "[::1]", "fe80::1%eth0", "[fe80::1%eth0]"])
def test_an_ipv6_address_may_stand_in_a_list_with_and_without_brackets(written: str) -> None:
    address = written.strip("[]")
    assert expand_hosts(f"a[1-2] {written}") == ("a1", "a2", address)
    assert [one.name for one in parse_hosts(f"a[1-2],[{address}]:4")] == ["a1", "a2", address]


def test_ipv6_addresses_with_ranges_need_no_brackets_on_the_command_line() -> None:
    addresses = ["2001:db8::1", "2001:db8::2", "2001:db8::3"]
    assert list(expand_hosts("2001:db8::[1-3]")) == addresses
    hosts = parse_hosts("ana@2001:db8::[1-3],gate:2")
    assert [(one.name, one.ranks) for one in hosts] == [
        *((address, None) for address in addresses),
        ("gate", 2),
    ]
    assert parse_hosts("::1")[0].name == "::1"
    for either in ("fe80::1:4", "fe80::[1-2]:4"):  # an address, or one and its ranks
        with pytest.raises(ValueError, match="an IPv6 address stands in brackets"):
            parse_hosts(either)


@pytest.mark.parametrize("written", ["1a", "node.1", "a123", "0xg.1", "1-2"])
def test_a_host_name_may_hold_numbers(written: str) -> None:
    assert expand_hosts(written) == (written,)


NO_HOSTS = [
    "a;b",
    "-oProxyCommand=x",
    "a..b",
    "10.0.0.[300,1]",
    "10.0.0.[01-20]",
    "x@y",
    "é",
    "a/b",
    "123",
    "0x7f.1",
    "127.1",
    "0XCAFE",
    "[1-3]",
]


@pytest.mark.parametrize("written", NO_HOSTS)
def test_what_is_no_host_is_refused_wherever_hosts_are_listed(written: str) -> None:
    for read in (expand_hosts, measure_hosts):
        with pytest.raises(NotAHostError, match="is not a host name, an IPv4 address or an IPv6"):
            read(written)
    if "@" not in written:
        with pytest.raises(ValueError, match="names no host"):
            parse_hosts(written)


def test_the_command_line_has_the_steps_and_exclusions_of_descriptors() -> None:
    hosts = parse_hosts("ana@node[0-8;2]^[4]:2,gate b[1,2]")
    assert [one.name for one in hosts] == ["node0", "node2", "node6", "node8", "gate", "b1", "b2"]
    assert [one.ranks for one in hosts] == [2, 2, 2, 2, None, None, None]
    with pytest.raises(ValueError, match="is not a login"):
        parse_hosts("-l@a")
