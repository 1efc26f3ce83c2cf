"""What a user is told to do about results that are not home."""

from __future__ import annotations

from pathlib import Path

from runtime.lifecycle.outcome import KeptFolder
from runtime.results.kept_note import KeptNote

COPY = "mkdir -p kept && scp -r desk8:/tmp/gcm-1/. kept"


def test_results_on_a_peer_are_asked_of_its_owner_where_nobody_may_log_in() -> None:
    there = KeptFolder("site0/desk8", "desk8:/tmp/gcm-1", COPY)
    assert there.cure == f"Bring them home with: {COPY}"
    lent = KeptFolder("site0/desk8", "desk8:/tmp/gcm-1", COPY, "desk8", "/tmp/gcm-1")
    assert lent.staying.endswith("if anything, stays on desk8 in /tmp/gcm-1")
    assert lent.cure == "Ask the owner of desk8 for it"


def test_the_note_of_a_run_has_no_command_for_a_peer_that_lets_nobody_in(tmp_path: Path) -> None:
    there = KeptFolder("far/here", "n1:/tmp/gcm-2", "scp n1")
    KeptNote(str(tmp_path)).write(
        [KeptFolder("site0/desk8", "d8:/tmp/g", COPY, "desk8", "/tmp/g"), there]
    )
    text = next(tmp_path.iterdir()).read_text()
    assert "\n    Ask the owner of desk8 for it\n" in text
    assert "\n    scp n1\n" in text
    assert COPY not in text
