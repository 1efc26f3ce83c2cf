from __future__ import annotations

from pathlib import Path

import pytest

from runtime.mpi.collectives.single_copies import may_read_each_other


@pytest.fixture(autouse=True)
def asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MPIR_CVAR_CH4_CMA_ENABLE", raising=False)
    may_read_each_other.cache_clear()


@pytest.mark.parametrize(("said", "may"), [("0\n", True), ("1\n", False), ("3\n", False)])
def test_the_system_may_forbid_it(tmp_path: Path, said: str, may: bool) -> None:
    (tmp_path / "scope").write_text(said)
    assert may_read_each_other(tmp_path / "scope") is may


def test_a_system_that_knows_no_limit_has_none(tmp_path: Path) -> None:
    assert may_read_each_other(tmp_path / "nothing")


def test_what_cannot_be_read_counts_as_forbidden(tmp_path: Path) -> None:
    assert not may_read_each_other(tmp_path)


def test_mpich_may_be_told_not_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPIR_CVAR_CH4_CMA_ENABLE", "0")
    assert not may_read_each_other(tmp_path / "nothing")
