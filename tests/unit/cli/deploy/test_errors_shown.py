"""Errors with words of ranks and far ends."""

from __future__ import annotations

import pytest

from runtime.cli.run import complain


def test_an_error_steers_no_terminal_and_keeps_its_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    complain(
        "rank 3 ended:\nTraceback:\n  ValueError: \x1b[2J\u202e\rok\n'a\x1b]0;mine\x07.npy' is held"
    )
    assert capsys.readouterr().err == (
        "gcm-deploy: rank 3 ended:\nTraceback:\n  ValueError: \\x1b[2J\\u202e\\rok\n"
        "'a\\x1b]0;mine\\x07.npy' is held\n"
    )
