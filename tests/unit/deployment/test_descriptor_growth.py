"""A small document that stands for very much is refused where it grows, before it is made."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gcm.documents import Limits
from runtime.deployment.extent import MOST, MachineAmount
from runtime.deployment.hosts import MOST_NAMES, measure_names
from runtime.deployment.language.kinds import split_words
from runtime.deployment.variables import DEEPEST_NESTING, LONGEST_VALUE
from tests.memory import takes_at_most

MEMORY = 64 << 20
PARTS = MOST[MachineAmount.PARTS]


def document(*lines: str) -> str:
    return "\n".join(["<deployment>", '<application script="a.py"/>', *lines, "</deployment>"])


def grid(*inside: str) -> tuple[str, ...]:
    return ("<grid><site><cluster>", *inside, "</cluster></site></grid>")


def variables(*values: str) -> list[str]:
    return [f'<variable name="v{n}" value="{value}"/>' for n, value in enumerate(values)]


DOUBLING = variables("x" * 10, *(f"${{v{n}}}" * 8 for n in range(60)))
CHAIN = variables(*(f"${{v{n + 1}}}" for n in range(2000)), "a")
LARGE = f'<variable name="v" value="{"x" * 1_000_000}"/>'

GROWING = {
    "variables that multiply": (
        document(*DOUBLING, '<emulate ranks="${v60}"/>'),
        9,
        "too-long",
        f"with its variables replaced a value has more than {LONGEST_VALUE:,} characters",
    ),
    "a long chain of variables": (document(*CHAIN, "<emulate/>"), None, "too-deep", "in a row"),
    "a long value, again and again": (
        document(LARGE, *['<process id="p" program="a" arguments="${v}"/>'] * 500, "<emulate/>"),
        20,
        "too-large",
        "up to here the descriptor stands for 17,000,000 characters, with its variables replaced",
    ),
    "ranks": (
        document('<emulate sites="100" clusters="100" ranks="10000"/>'),
        3,
        "too-large",
        "up to here the descriptor stands for 100,000,000 ranks",
    ),
    "ranks of many clusters": (
        document("<grid><mpi ranks='900000'/><site>", "<cluster/>", "<cluster/>", "</site></grid>"),
        5,
        "too-large",
        "up to here the descriptor stands for 1,800,000 ranks",
    ),
    "nodes": (
        document('<emulate sites="100" clusters="100" nodes="1000"/>'),
        3,
        "too-large",
        "up to here the descriptor stands for 10,000,000 names, clusters, nodes and processes",
    ),
    "lists": (
        document(*grid(*(f'<nodes hosts="n{n}x[1-99999]"/>' for n in range(500)))),
        7,
        "too-large",
        "up to here the descriptor stands for 399,996 names, clusters, nodes and processes",
    ),
    "processes": (
        document(
            '<process id="p" kind="ssh" program="x" number="10000" hosts="n[1-9999]"/>',
            "<emulate/>",
        ),
        3,
        "too-large",
        "up to here the descriptor stands for 100,000,000 names, clusters, nodes and processes",
    ),
    "references": (
        document(
            *[f'<virtual-node name="v{n}" nodes="site0/cluster0"/>' for n in range(1000)],
            '<assembly file="a.fractal"/>',
            *grid('<nodes hosts="n[1-9000]"/>'),
        ),
        35,
        "too-large",
        "up to here the descriptor stands for 307,000 names, clusters, nodes and processes",
    ),
}


@pytest.mark.parametrize(("text", "line", "code", "words"), GROWING.values(), ids=list(GROWING))
def test_a_document_that_grows_is_refused_where_it_does(
    read: Any, text: str, line: int | None, code: str, words: str
) -> None:
    with takes_at_most(MEMORY + 10 * len(text)):
        found = read(text)
    assert found.deployment is None
    told = [one for one in found.found if one.code == code]
    assert told, [str(one) for one in found.found]
    assert words in told[0].message
    assert line in (None, told[0].location.line)
    if code == "too-large":
        assert len(told) == 1
        assert re.search(r"the most is [\d,]+", told[0].hint)


def test_a_value_that_is_too_long_is_refused_while_it_is_read(read: Any) -> None:
    most = Limits().max_value
    found = read(document(f'<emulate ranks="{"1" * (most + 1)}"/>'))
    assert [str(one) for one in found.found] == [
        f"test.xml:3: error[too-long]: 'ranks' of <emulate> is longer than {most:,} characters. "
        "keep that much in a file of its own"
    ]


@pytest.mark.parametrize(
    "machine",
    [
        '<emulate sites="100" clusters="10" ranks="100"/>',
        '<emulate sites="100" clusters="100" ranks="100"/>',
        "".join(grid('<mpi ranks="1000000"/><nodes hosts="n[1-100000]"/>')),
    ],
)
def test_a_large_machine_is_read(read: Any, machine: str) -> None:
    assert read(document(machine)).deployment is not None


def test_as_many_nested_variables_as_the_limit_allows_are_replaced(read: Any) -> None:
    chain = variables(*(f"${{v{n + 1}}}" for n in range(DEEPEST_NESTING - 1)), "2")
    found = read(document(*chain, '<emulate ranks="${v0}"/>'))
    assert sum(one.ranks for one in found.deployment.clusters()) == 2


@pytest.mark.parametrize(
    "written", ["n " * 500_000, "[" * 1_000_000, "n[" + "1," * 500_000, "n[1" + "-1" * 500_000]
)
def test_long_lists_are_measured_in_one_pass(written: str) -> None:
    with pytest.raises(ValueError, match="too many names|do not match|neither a number|empty"):
        measure_names(written)


def test_a_list_is_measured_without_being_made() -> None:
    assert measure_names("n[1-9]x[01-11] m") == (100, ("n1x01", "n9x01", "n1x11", "m"))
    assert measure_names(f"n[1-{MOST_NAMES}]") == (MOST_NAMES, ("n1", f"n{MOST_NAMES}"))


@pytest.mark.parametrize("text", ["", " ", "a", " a\tb\n c ", "a\u00a0b \u2003c", "a#b"])
def test_words_without_quotes_are_those_of_a_shell(text: str) -> None:
    assert split_words(text) == split_words(text + " ''")[:-1]


def test_the_documented_limits_are_those_that_hold() -> None:
    text = (Path(__file__).parents[3] / "docs" / "descriptor.md").read_text(encoding="utf-8")
    table = text.partition("| limit | the most |")[2].partition("**Files.**")[0]
    for most in (LONGEST_VALUE, DEEPEST_NESTING, MOST_NAMES, Limits().max_nodes, *MOST.values()):
        assert f" {most:,} " in table
    assert Limits().max_bytes == 64 * 1024 * 1024
