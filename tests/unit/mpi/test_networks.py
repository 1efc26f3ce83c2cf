"""Ranks of one host leave networks alone, but only where all of their native MPI is there."""

from __future__ import annotations

import pytest

from runtime.mpi.process.native import ON_ONE_HOST, without_network


@pytest.mark.parametrize(
    ("environment", "settings"),
    [
        ({}, ON_ONE_HOST),
        ({"PMI_SIZE": "4", "MPI_LOCALNRANKS": "4"}, ON_ONE_HOST),
        ({"PMI_SIZE": "4", "MPI_LOCALNRANKS": "2"}, {}),
        ({"UCX_TLS": "tcp"}, {"FI_PROVIDER": "shm"}),
    ],
    ids=["unknown", "all here", "some elsewhere", "chosen by a user"],
)
def test_ranks_of_one_host_need_no_network(
    environment: dict[str, str], settings: dict[str, str]
) -> None:
    assert without_network(environment) == settings
