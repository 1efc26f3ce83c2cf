"""Lists of names with ranges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.deployment.hosts import MOST_NAMES, HostListError, expand_hosts


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
    ],
)
def test_a_list_stands_for_its_names_in_order(written: str, names: str) -> None:
    assert expand_hosts(written) == tuple(names.split())


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "the list is empty"),
        (" , ", "the list is empty"),
        ("node[5-3]", "the range 5-3 in 'node[5-3]' is empty: it ends before it begins"),
        ("n[a-b]", "'a-b' in 'n[a-b]' is neither a number nor a range like 01-16"),
        ("n[1,]", "'' in 'n[1,]' is neither a number nor a range like 01-16"),
        ("n[]", "'' in 'n[]' is neither a number nor a range like 01-16"),
        ("n[1-2-3]", "'1-2-3' in 'n[1-2-3]' is neither a number nor a range like 01-16"),
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
        expand_hosts(written)
    assert str(caught.value) == message


def test_the_largest_list_is_allowed() -> None:
    assert len(expand_hosts(f"n[1-{MOST_NAMES}]")) == MOST_NAMES


@given(st.integers(0, 500), st.integers(0, 50), st.integers(1, 6))
def test_a_range_counts_from_its_first_to_its_last_number(
    first: int, more: int, width: int
) -> None:
    names = expand_hosts(f"n[{first:0{width}}-{first + more}]")
    assert [int(name[1:]) for name in names] == list(range(first, first + more + 1))
    assert all(len(name) - 1 >= width for name in names)


@given(st.text(alphabet="n0159[]-, ", max_size=14))
def test_any_text_is_either_read_or_refused(text: str) -> None:
    try:
        names = expand_hosts(text)
    except HostListError:
        return
    assert names
    assert not any(set(name) & set("[], ") for name in names)
