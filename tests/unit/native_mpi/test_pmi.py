"""The server's half of PMI-1: what ranks write, and what each of them reads, without any socket."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.native_mpi import PmiAbort, PmiAnswer, PmiExchange, PmiFault, PmiServer
from runtime.native_mpi.pmi import (
    LONGEST_LINE,
    LONGEST_VALUE,
    MOST_NAMES,
    SPACE,
    SPACE_OF_A_RANK,
    process_mapping,
)

INIT = b"cmd=init pmi_version=1 pmi_subversion=1\n"
IN, OUT = b"cmd=barrier_in\n", b"cmd=barrier_out rc=0\n"
NOT_FOUND = b"cmd=get_result rc=-1 msg=key_not_found value=unknown\n"


def said(server: PmiServer, *lines: str, rank: int = 0) -> list[str]:
    """Return what a rank reads after these lines."""
    answers = server.received(rank, "".join(f"{line}\n" for line in lines).encode())
    return [one.data.decode().rstrip("\n") for one in answers if one.rank == rank]


def put(server: PmiServer, key: str, value: str, rank: int = 0) -> bool:
    (answer,) = said(server, f"cmd=put kvsname=job key={key} value={value}", rank=rank)
    return answer == "cmd=put_result rc=0 msg=success"


def got(server: PmiServer, key: str, rank: int = 0) -> str:
    (answer,) = said(server, f"cmd=get kvsname=job key={key}", rank=rank)
    return answer.partition(" value=")[2] if " rc=0 " in answer else ""


def test_a_rank_is_told_what_its_job_is() -> None:
    server = PmiServer("job", 3)
    asked = ("init", "get_maxes", "get_appnum", "get_my_kvsname", "get_universe_size", "finalize")
    assert said(server, *(f"cmd={one}" for one in asked), rank=2) == [
        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
        "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0",
        "cmd=appnum appnum=0 rc=0",
        "cmd=my_kvsname kvsname=job rc=0",
        "cmd=universe_size size=3 rc=0",
        "cmd=finalize_ack rc=0",
    ]
    assert got(server, "PMI_process_mapping") == "(vector,(0,1,3))"


def test_what_one_rank_puts_all_others_get() -> None:
    server = PmiServer("job", 2)
    assert got(server, "card", rank=1) == ""
    assert put(server, "card", "host=a port=5 value=x")
    assert got(server, "card", rank=1) == "host=a port=5 value=x"
    assert put(server, "card", "other", rank=1)
    assert got(server, "card") == "other"


def test_a_barrier_holds_until_all_ranks_are_in_it_each_time() -> None:
    server = PmiServer("job", 3)
    for _ in range(2):
        assert server.received(2, IN) == []
        assert server.received(0, IN + IN) == []
        assert server.received(1, IN) == [PmiAnswer(rank, OUT) for rank in (2, 0, 1)]


def test_a_line_may_come_in_pieces_and_several_at_once() -> None:
    server = PmiServer("job", 1)
    assert [server.received(0, INIT[at : at + 1]) for at in range(len(INIT) - 1)].count([]) == 39
    assert server.received(0, b"\n" + IN)[-1] == PmiAnswer(0, OUT)


@pytest.mark.parametrize(
    ("lines", "is_missed"),
    [((), False), (("cmd=init",), True), (("cmd=init", "cmd=finalize"), False)],
)
def test_others_miss_a_rank_between_init_and_finalize(
    lines: tuple[str, ...], is_missed: bool
) -> None:
    server = PmiServer("job", 2)
    said(server, *lines)
    assert server.is_missed(0) is is_missed


@pytest.mark.parametrize(("words", "code"), [("exitcode=44", 44), ("exitcode=x", 1), ("", 1)])
def test_the_first_rank_that_aborts_says_with_which_code(words: str, code: int) -> None:
    server = PmiServer("job", 3)
    assert server.abort is None
    assert said(server, f"cmd=abort {words} message=stop", rank=2) == []
    said(server, "cmd=abort exitcode=7", rank=1)
    assert server.abort == PmiAbort(2, code)


def test_no_rank_starts_others() -> None:
    server = PmiServer("job", 1)
    first = ("mcmd=spawn", "nprocs=1", "execname=a.out", "totspawns=2", "spawnssofar=1", "endcmd")
    last = (*first[:4], "spawnssofar=2", "endcmd")
    assert said(server, *first) == []
    (answer,) = said(server, *last)
    assert answer.startswith("cmd=spawn_result rc=-1 ")
    assert said(server, "cmd=get_appnum") == ["cmd=appnum appnum=0 rc=0"]


def test_names_are_published_once_and_taken_back() -> None:
    server = PmiServer("job", 2)
    publish, look = "cmd=publish_name service=s port=p", "cmd=lookup_name service=s"
    assert said(server, look, publish, look, publish) == [
        "cmd=lookup_result rc=-1 msg=not_found",
        "cmd=publish_result rc=0 msg=success",
        "cmd=lookup_result rc=0 msg=success port=p",
        "cmd=publish_result rc=-1 msg=not_published",
    ]
    take_back = "cmd=unpublish_name service=s"
    assert said(server, take_back, take_back, look, rank=1) == [
        "cmd=unpublish_result rc=0 msg=success",
        "cmd=unpublish_result rc=-1 msg=not_found",
        "cmd=lookup_result rc=-1 msg=not_found",
    ]


# --- several hosts --------------------------------------------------------------------------------


def test_servers_of_several_hosts_exchange_what_was_put_in_each_barrier() -> None:
    one = PmiServer("job", 3, ranks=[0, 1], hosts=[2, 1])
    two = PmiServer("job", 3, ranks=[2], hosts=[2, 1])
    assert got(two, "PMI_process_mapping", rank=2) == "(vector,(0,1,2),(1,1,1))"
    put(one, "a", "1", rank=1)
    put(two, "b", "2", rank=2)
    assert one.received(0, IN) == []
    assert [server.fresh for server in (one, two)] == [None, None]
    assert (one.received(1, IN), two.received(2, IN)) == ([], [])
    assert [server.fresh for server in (one, two)] == [{"a": "1"}, {"b": "2"}]
    both = {"a": "1", "b": "2"}
    assert one.release(both) == [PmiAnswer(0, OUT), PmiAnswer(1, OUT)]
    assert two.release(both) == [PmiAnswer(2, OUT)]
    assert (got(one, "b"), got(two, "a", rank=2)) == ("2", "1")
    assert [server.fresh for server in (one, two)] == [None, None]


def test_an_exchange_is_over_once_all_hosts_have_told_and_then_the_next_one_begins() -> None:
    exchange = PmiExchange(2)
    assert exchange.put(1, {"b": "2"}) is None
    assert exchange.put(1, {"b": "2"}) is None
    assert exchange.put(0, {}) == {"b": "2"}
    assert exchange.put(0, {"a": "1"}) is None
    assert exchange.put(1, {}) == {"a": "1"}


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ([1], "(0,1,1)"),
        ([2, 2, 2], "(0,3,2)"),
        ([3, 1], "(0,1,3),(1,1,1)"),
        ([1, 1, 2, 1], "(0,2,1),(2,1,2),(3,1,1)"),
    ],
)
def test_a_mapping_says_which_ranks_share_a_host(hosts: list[int], words: str) -> None:
    assert process_mapping(hosts) == f"(vector,{words})"


# --- ranks that mean no good, or have lost their wits ---------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"x" * (LONGEST_LINE + 1),
        b"x" * (LONGEST_LINE + 1) + b"\n",
        b"HYD\0\0\0\0\0\0\0\0\0\n",
        b"\xff\xfe\n",
        b"\n",
        b"cmd=\n",
        b"cmd=rm\n",
        b"mcmd=spawn\n" + b"arg=x\n" * SPACE_OF_A_RANK,
    ],
    ids=lambda data: repr(data[:12]),
)
def test_what_no_client_says_is_a_fault_of_that_rank(data: bytes) -> None:
    server = PmiServer("job", 2)
    with pytest.raises(PmiFault):
        server.received(1, data)
    assert said(server, "cmd=get_appnum") == ["cmd=appnum appnum=0 rc=0"]


def test_a_flood_of_keys_is_refused_at_some_point_and_what_was_there_stays() -> None:
    server = PmiServer("job", 1)
    value, number = "v" * LONGEST_VALUE, 0
    while put(server, f"k{number}", value):
        number += 1
    room = SPACE + SPACE_OF_A_RANK
    assert room - 9 * LONGEST_VALUE < number * LONGEST_VALUE < room
    assert got(server, "k0") == value
    assert put(server, "k0", "less")
    assert not put(server, "key", value + "v")
    assert not put(server, "k" * 65, "v")


def test_names_without_end_are_not_published() -> None:
    server = PmiServer("job", 1)
    answers = said(server, *(f"cmd=publish_name service={i} port=p" for i in range(300)))
    assert sum("rc=0" in one for one in answers) == MOST_NAMES


@given(st.lists(st.tuples(st.integers(0, 2), st.binary(max_size=200))))
def test_any_bytes_are_answered_or_a_fault_and_nothing_else(sent: list[tuple[int, bytes]]) -> None:
    server = PmiServer("job", 3)
    for rank, data in sent:
        try:
            answers = server.received(rank, data)
        except PmiFault:
            continue
        assert all(one.data.endswith(b"\n") for one in answers)
