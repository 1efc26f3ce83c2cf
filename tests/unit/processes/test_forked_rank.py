from __future__ import annotations

import marshal

import pytest

from runtime.processes.rank.forked_rank import ProxyRequest

HERE = {b"PATH": b"/bin", b"PYTHONPATH": b"/a:/b", b"LD_PRELOAD": b"x.so"}


def request(environment: dict[bytes, bytes], cwd: bytes = b"/work") -> ProxyRequest:
    return ProxyRequest(marshal.dumps((["--room", "/r"], environment, cwd, [0], [0, 1, 2])))


def test_what_a_stand_in_says_is_read() -> None:
    found = request(HERE)
    assert (found.words, found.environment) == (["--room", "/r"], HERE)
    assert (found.cwd, found.processors, found.descriptors) == (b"/work", [0], [0, 1, 2])


def test_settings_of_the_program_do_not_count() -> None:
    assert request({**HERE, b"PATH": b"/other", b"PMI_RANK": b"3"}).fits(HERE, b"/work")


@pytest.mark.parametrize(
    "other",
    [
        {b"PYTHONPATH": b"/a"},
        {b"PYTHONHASHSEED": b"0"},
        {b"LD_PRELOAD": b""},
        {b"LD_LIBRARY_PATH": b"/lib"},
        {b"MPI4PY_LIBMPI": b"libmpi.so"},
        {b"LC_ALL": b"C"},
    ],
)
def test_settings_that_count_when_something_is_loaded_have_to_be_the_same(
    other: dict[bytes, bytes],
) -> None:
    assert not request({**HERE, **other}).fits(HERE, b"/work")
    assert not request(HERE).fits({**HERE, **other}, b"/work")


@pytest.mark.parametrize(("path", "fits"), [(b"/a:/b", True), (b"/a:b", False), (b"/a:", False)])
def test_in_another_folder_a_relative_search_path_means_something_else(
    path: bytes, fits: bool
) -> None:
    there = {**HERE, b"PYTHONPATH": path}
    assert request(there, b"/elsewhere").fits(there, b"/work") is fits
    assert request(there, b"/work").fits(there, b"/work")
