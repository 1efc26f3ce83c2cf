"""`gcm-deploy login` at a host with a second factor, and the runs that share what it opened."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.exit_codes import NEVER_STARTED, UNHEALTHY
from tests.second_factor import Guarded, at_terminal, second_factor
from tools.on_grids import COMMAND

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.needs_root,
    pytest.mark.needs_sshd,
    pytest.mark.needs_oath,
]


@pytest.fixture(scope="module")
def host() -> Iterator[Guarded]:
    with second_factor() as host:
        yield host


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text("from mpi4py import MPI\nprint('rank', MPI.COMM_WORLD.rank, flush=True)\n")
    return path


def without_terminal(host: Guarded, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, words)], env=host.environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def log_in(host: Guarded, *words: str | Path) -> tuple[int, str]:
    argv = [*COMMAND, "login", *map(str, words)]
    return at_terminal(argv, host.environment, [host.password()])


def descriptor(host: Guarded, program: Path) -> Path:
    """Return a descriptor of a cluster at `lyon` and one that is reached through it."""
    path = program.with_suffix(".xml")
    path.write_text(
        f'<deployment><application script="{program.name}"/><grid><site name="s">'
        f'<ssh host="lyon"/><cluster name="a"><front-end python="{sys.executable}"/>'
        '<mpi ranks="1"/></cluster>'
        f'<cluster name="b"><ssh host="localhost" port="{host.inner.port}"'
        f' key="{host.inner.folder}/key" known-hosts="{host.inner.folder}/known"/>'
        f'<front-end python="{sys.executable}"/><mpi ranks="1"/></cluster></site></grid>'
        "</deployment>"
    )
    return path


def test_one_login_serves_runs_until_it_is_ended(host: Guarded, program: Path) -> None:
    run = ("--quiet", "-H", "lyon:2", "--python", sys.executable, program)
    refused = without_terminal(host, *run)
    assert refused.returncode == NEVER_STARTED
    assert (
        "the host asks for a password or a second factor, and no connection to it is open. Open"
        " one, which runs then share: gcm-deploy login lyon\n" in refused.stderr
    )

    code, screen = log_in(host, "lyon")
    assert code == 0, screen
    assert "Authorized users only." in screen
    assert "lyon is open now (process " in screen
    (socket,) = host.sockets()
    assert socket.stat().st_mode & 0o777 == 0o600
    done = without_terminal(host, *run)
    assert sorted(done.stdout.split()) == ["0", "1", "rank", "rank"], done.stderr
    checked = without_terminal(host, "login", "--check", "lyon")
    assert (checked.returncode, checked.stdout.startswith("lyon is open (process ")) == (0, True)

    ended = without_terminal(host, "login", "--end", "lyon")
    assert (ended.returncode, ended.stdout) == (0, "lyon ended\n")
    checked = without_terminal(host, "login", "--check", "lyon")
    assert (checked.returncode, checked.stdout) == (1, "lyon is not open\n")


def test_an_answer_that_comes_too_late_opens_nothing() -> None:
    with second_factor("LoginGraceTime 1\n") as hasty:
        argv = [*COMMAND, "login", "lyon"]
        code, screen = at_terminal(argv, hasty.environment, [hasty.password()], hesitation=1.5)
        assert code == NEVER_STARTED
        assert (
            "gcm-deploy: lyon: no connection was opened; ssh ended with exit code 255. See what ssh"
            " has said, and answer before the host loses patience\n" in screen
        )
        assert hasty.sockets() == []


def test_the_doctor_names_the_login_that_opens_the_way_to_each_host_of_a_descriptor(
    host: Guarded, program: Path
) -> None:
    file = descriptor(host, program)
    done = without_terminal(host, "doctor", "--format", "json", file)
    assert done.returncode == UNHEALTHY
    found = [one for one in json.loads(done.stdout)["findings"] if one["code"] == "ssh-login"]
    assert [(one["where"], one["fix"]) for one in found] == [
        (where, f"Open one, which runs then share: gcm-deploy login {file}")
        for where in ("s/a (lyon)", "s/b (localhost)")
    ]

    code, screen = log_in(host, file)
    assert code == 0, screen
    assert screen.count("One-time password") == 1
    assert "lyon is open now (process " in screen
    assert "lyon -> localhost is open now (process " in screen
    done = without_terminal(host, "--quiet", file)
    assert sorted(done.stdout.split()) == ["0", "1", "rank", "rank"], done.stderr
    ended = without_terminal(host, "login", "--end", file)
    assert ended.stdout == "lyon -> localhost ended\nlyon ended\n"
    assert host.sockets() == []
