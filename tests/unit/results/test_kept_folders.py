"""What a user is told to do about results that are not home."""

from __future__ import annotations

from runtime.lifecycle.outcome import KeptFolder

COPY = "mkdir -p kept && scp -r desk8:/tmp/gcm-1/. kept"


def test_results_on_a_peer_are_asked_of_its_owner_where_nobody_may_log_in() -> None:
    there = KeptFolder("site0/desk8", "desk8:/tmp/gcm-1", COPY)
    assert there.cure == f"Bring them home with: {COPY}"
    lent = KeptFolder("site0/desk8", "desk8:/tmp/gcm-1", COPY, "desk8")
    assert lent.staying.endswith("if anything, stays on desk8 in /tmp/gcm-1")
    assert lent.cure == "Ask the owner of desk8 for it"
