from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.coupling.directory import CodeDirectory
from runtime.coupling.errors import NoSuchRank, UnknownCode
from runtime.coupling.message_paths import DRIVER, cluster_of, identifier_of, rank_path
from runtime.machine.paths import DRIVER_PATH
from runtime.transport.messages import PLAIN_DATA

TWO = CodeDirectory({"ocean": [("0:0", 2)], "air": [("0:1", 2), ("1:0", 3)]})


def test_ranks_are_numbered_over_all_clusters_of_a_code() -> None:
    assert TWO.sizes == {"ocean": 2, "air": 5}
    assert TWO.clusters("air") == (("0:1", 2), ("1:0", 3))
    assert [TWO.path("air", rank) for rank in range(5)] == [
        "/ranks/0:1:0",
        "/ranks/0:1:1",
        "/ranks/1:0:0",
        "/ranks/1:0:1",
        "/ranks/1:0:2",
    ]


@given(st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=3), min_size=1, max_size=3))
def test_every_rank_is_found_under_its_own_path(sizes: list[list[int]]) -> None:
    codes = {
        f"code{n}": [(f"{n}:{m}", ranks) for m, ranks in enumerate(parts)]
        for n, parts in enumerate(sizes)
    }
    directory = CodeDirectory(codes)
    for code, size in directory.sizes.items():
        for rank in range(size):
            assert directory.whose(identifier_of(directory.path(code, rank))) == (code, rank)


def test_a_directory_travels() -> None:
    here = CodeDirectory({"ocean": [("0:0", 2)]}, has_driver=True)
    there = CodeDirectory(*PLAIN_DATA.load(PLAIN_DATA.dump(here.plain)))
    assert (there.sizes, there.codes, there.has_driver) == (
        {"ocean": 2, DRIVER: 1},
        ("ocean",),
        True,
    )
    assert there.path(DRIVER, 0) == DRIVER_PATH
    assert there.clusters(DRIVER) == ()


@pytest.mark.parametrize("rank", [-1, 2])
def test_a_rank_that_is_not_there_is_refused(rank: int) -> None:
    with pytest.raises(NoSuchRank, match=f"ocean has no rank {rank}. Its ranks are 0 to 1"):
        TWO.path("ocean", rank)


def test_a_code_without_ranks_says_so() -> None:
    with pytest.raises(NoSuchRank, match="dry has no rank 0. It has no ranks at all"):
        CodeDirectory({"dry": []}).check("dry", 0)


def test_an_unknown_code_is_refused_with_what_may_be_meant() -> None:
    with pytest.raises(UnknownCode, match="no code 'ocaen' in this .* did you mean 'ocean'"):
        TWO.check("ocaen")
    with pytest.raises(UnknownCode, match="no code 'x' in this deployment. There is: ocean, air"):
        TWO.check("x")
    with pytest.raises(UnknownCode, match="drives"):
        TWO.path(DRIVER, 0)


@pytest.mark.parametrize("nobody", ["7:7:0", "0:0:2", "0:0:-1", "0:0", "", DRIVER, "0:0:x"])
def test_nobody_has_a_name_that_is_not_in_the_directory(nobody: str) -> None:
    with pytest.raises(UnknownCode, match="no code has a rank"):
        TWO.whose(nobody)


def test_the_driver_has_a_name_where_there_is_one() -> None:
    assert CodeDirectory({"ocean": []}, has_driver=True).whose(DRIVER) == (DRIVER, 0)


def test_a_path_says_to_which_cluster_it_leads() -> None:
    assert cluster_of(rank_path("0:1:2")) == "0:1"
    assert identifier_of(rank_path("0:1:2")) == "0:1:2"
    assert (cluster_of(DRIVER_PATH), identifier_of(DRIVER_PATH)) == ("", "")
