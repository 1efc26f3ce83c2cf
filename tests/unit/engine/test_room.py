"""The key that a front-end leaves for its ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.errors import GridError
from runtime.membership.room import KEY, read_key, remove_key, write_key


def test_what_is_left_for_ranks_is_read_by_them_alone(tmp_path: Path) -> None:
    write_key(str(tmp_path), "unix:/there", b"secret", "nowhere", b"certificate")
    assert read_key(str(tmp_path)) == ("unix:/there", b"secret", "nowhere", b"certificate")
    assert (tmp_path / KEY).stat().st_mode & 0o777 == 0o600
    remove_key(str(tmp_path))
    remove_key(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_key_that_cannot_be_written_is_an_error_that_says_where_and_what_to_do(
    tmp_path: Path,
) -> None:
    with pytest.raises(GridError) as caught:
        write_key(str(tmp_path / "gone"), "unix:/there", b"secret", "nowhere")
    assert str(caught.value) == (
        f"{tmp_path}/gone/key: ranks cannot be told where to report: No such file or directory. "
        "Name another folder for temporary files in TMPDIR, with rights and space"
    )
