"""What stand-ins note about bad ends is found once, whatever became of who wrote it."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.engine.rank_notes import take_first_note
from runtime.engine.rank_stand_in import NOTES
from runtime.launchers.base import Exit


def test_who_ended_first_is_told_once(tmp_path: Path) -> None:
    (tmp_path / NOTES).write_text(f"12 {3 << 8}\n13 9\n")
    assert take_first_note(str(tmp_path)) == (12, Exit(code=3))
    assert take_first_note(str(tmp_path)) is None


@pytest.mark.parametrize("left", [b"", b"\n", b"12", b"\xff\xfe 9\n"])
def test_a_note_that_cannot_be_read_counts_as_none_and_does_not_stay(
    left: bytes, tmp_path: Path
) -> None:
    (tmp_path / NOTES).write_bytes(left)
    assert take_first_note(str(tmp_path)) is None
    assert not (tmp_path / NOTES).exists()
