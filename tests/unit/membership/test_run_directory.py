"""What a front-end leaves for its ranks: each reads its own keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.errors import GridError
from runtime.membership.run_directory import (
    KEY,
    TICKETS,
    Bootstrap,
    read_key,
    remove_key,
    write_key,
)
from runtime.transport.keys import Keyring, RunKeys

RUN = RunKeys(b"a secret of a test")
OWN, OTHERS = "ranks 0:0", "ranks 1:0"
KEYS = RUN.keyring([OWN, "front-end 0:0", "nodes /nodes/a/b"], {OTHERS: "0:0", "launcher": "0:0"})
RANKS = [f"0:0:{number}" for number in range(3)]


def bootstrap(keys: Keyring = KEYS) -> Bootstrap:
    return Bootstrap("unix:/there", ("unix", "0.0.0.0:0"), 4, keys, b"certificate", patience=2.5)


def test_what_is_left_for_ranks_is_read_by_their_user_alone(tmp_path: Path) -> None:
    write_key(str(tmp_path), RANKS, bootstrap())
    told = read_key(str(tmp_path), "0:0:1")
    assert (told.address, told.incarnation) == ("unix:/there", 4)
    assert told.transports == ("unix", "0.0.0.0:0")
    assert (told.certificate, told.patience) == (b"certificate", 2.5)
    for name in (KEY, TICKETS):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    remove_key(str(tmp_path))
    remove_key(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_each_rank_gets_tickets_in_its_own_name_and_for_whom_it_has_to_do_with(
    tmp_path: Path,
) -> None:
    write_key(str(tmp_path), RANKS, bootstrap())
    for rank in RANKS:
        keys = read_key(str(tmp_path), rank).keys
        assert keys.checks == {OWN: RUN.audience(OWN)}
        assert keys.issues == {}
        known = {one: KEYS.ticket(f"{rank}#4", one) for one in ("front-end 0:0", OTHERS)}
        assert keys.tickets == known


def test_a_rank_that_is_started_again_reads_what_is_left_for_it_alone(tmp_path: Path) -> None:
    write_key(str(tmp_path), RANKS, bootstrap())
    write_key(str(tmp_path), RANKS[2:], Bootstrap("unix:/late", (), 5, KEYS), alone=RANKS[2])
    told = read_key(str(tmp_path), RANKS[2], is_alone=True)
    assert (told.address, told.incarnation) == ("unix:/late", 5)
    assert told.keys.tickets["front-end 0:0"] == KEYS.ticket("0:0:2#5", "front-end 0:0")
    assert read_key(str(tmp_path), RANKS[2]).incarnation == 4
    remove_key(str(tmp_path), alone=RANKS[2])
    remove_key(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_key_that_cannot_be_written_is_an_error_that_says_where_and_what_to_do(
    tmp_path: Path,
) -> None:
    with pytest.raises(GridError) as caught:
        write_key(str(tmp_path / "gone"), RANKS, bootstrap())
    assert str(caught.value) == (
        f"{tmp_path}/gone/tickets: ranks cannot be told where to report: No such file or directory."
        " Name another folder for temporary files in TMPDIR, with rights and space"
    )
