"""Which hosts an MPI fits that pip has installed here, and which of its files go there."""

from __future__ import annotations

import pytest

from runtime.launchers.errors import LaunchError, WrongPlatform
from runtime.launchers.local import LocalLauncher
from runtime.processes.launcher.mpi_wheel import Platform, bring_mpi, this_platform, unfit

HERE = Platform("Linux", "x86_64", "glibc 2.36")
TAGS = "Root-Is-Purelib: false\nTag: py3-none-manylinux_2_28_x86_64\n"


@pytest.mark.parametrize(
    ("there", "why"),
    [
        ("Linux x86_64 glibc 2.36", ""),
        ("Linux x86_64 glibc 2.28", ""),
        ("Linux x86_64 glibc 2.17", "it needs glibc 2.28"),
        ("Linux x86_64 glibc 2.5.1", "it needs glibc 2.28"),
        ("Linux x86_64", "it is for Linux x86_64 with glibc 2.36"),
        ("Linux aarch64 glibc 2.36", "it is for Linux x86_64"),
        ("Darwin x86_64", "it is for Linux x86_64"),
        ("", "it is for Linux x86_64"),
    ],
)
def test_it_fits_a_host_of_the_same_kind_whose_library_is_new_enough(there: str, why: str) -> None:
    assert unfit(TAGS, HERE, Platform.parse(there)) == why


@pytest.mark.mpi
def test_a_host_that_it_does_not_fit_is_told_with_both_kinds() -> None:
    with LocalLauncher() as local, pytest.raises(WrongPlatform) as caught:
        bring_mpi(local, "mpich", Platform("Linux", "riscv64", "glibc 2.39"), "/nowhere")
    words = str(caught.value)
    assert f"it is for {this_platform().system} {this_platform().machine}" in words
    assert "the host is Linux riscv64 with glibc 2.39" in words
    assert "<mpi command-path=...>" in words


@pytest.mark.parametrize("name", ["no-such-distribution", "pytest"])
def test_what_is_no_mpi_of_pip_cannot_be_brought(name: str) -> None:
    with LocalLauncher() as local, pytest.raises(LaunchError, match=f"pip install {name}"):
        bring_mpi(local, name, this_platform(), "/nowhere")
