"""What a host needs before anything starts there, over a real sshd whose login shells have modules.

Containers are recorded only: the doctest of `preparation` has the words.
"""

from __future__ import annotations

import sys
from typing import Protocol

import pytest

from runtime.deployment.model import FrontEnd
from runtime.deployment.planning.preparation import preparation
from runtime.launchers.base import Command
from runtime.launchers.errors import NotPrepared
from runtime.launchers.hops import Hop
from runtime.launchers.lines import Collected
from runtime.launchers.local import LocalLauncher
from runtime.launchers.ssh import SshLauncher

pytestmark = pytest.mark.needs_sshd


class Server(Protocol):
    """The sshd of conftest."""

    def hop(self, name: str = "plain") -> Hop: ...


def prepared(
    local: LocalLauncher, sshd: Server, modules: str = "", before: str = ""
) -> SshLauncher:
    there = FrontEnd("there", modules=tuple(modules.split()), before=before)
    return SshLauncher(
        (sshd.hop("modules"),),
        local,
        user_folder=None,
        within=preparation(there),
        python=sys.executable,
    )


def test_commands_have_what_modules_and_the_line_of_shell_have_set(
    local: LocalLauncher, sshd: Server
) -> None:
    before = "read -r line; export TWICE=$WITH_MPI$WITH_MPI; echo it is a talkative one"
    with prepared(local, sshd, "openmpi/5", before) as launcher:
        sink = Collected()
        words = ("/bin/sh", "-c", 'echo "$WITH_MPI $TWICE"')
        assert launcher.start(Command(words), sink).wait(20).ok
        assert (sink.output, sink.error) == ("5 55\n", "")


@pytest.mark.parametrize(
    ("modules", "before", "told"),
    [
        ("gromacs/1", "true", ("'module load gromacs/1' fails", "modules", "gromacs/1 is unknown")),
        ("openmpi/5", "cd /not/there", ("the line of shell fails", "before", "/not/there")),
    ],
    ids=["module", "line"],
)
def test_a_preparation_that_fails_is_told_with_its_own_words(
    local: LocalLauncher, sshd: Server, modules: str, before: str, told: tuple[str, str, str]
) -> None:
    launcher = prepared(local, sshd, modules, before)
    with launcher, pytest.raises(NotPrepared) as failed:
        launcher.ready(30)
    what, name, why = told
    assert (failed.value.what, why in failed.value.cause) == (f"{what} there", True)
    assert f"correct {name}=... of its <front-end>" in str(failed.value)
