"""An sshd of the current user on this machine: what is far away, for tests and benchmarks."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")

CONFIG = """\
Port {port}
ListenAddress {address}
HostKey {folder}/host
PidFile none
StrictModes no
AuthorizedKeysFile {folder}/key.pub
PermitRootLogin yes
UsePAM no
MaxStartups 100
SetEnv {settings}
"""


@dataclass(frozen=True)
class Sshd:
    """A running sshd, and what a client needs."""

    folder: Path
    port: int
    address: str = "127.0.0.1"

    @property
    def hop(self) -> str:
        """The element of a descriptor that leads there."""
        return self.hop_with("key")

    def hop_with(self, key: str) -> str:
        """Return the element that leads there with another key of the folder."""
        return (
            f'<ssh host="{self.address}" port="{self.port}" key="{self.folder}/{key}"'
            f' known-hosts="{self.folder}/known"/>'
        )


@contextmanager
def running_sshd(
    folder: Path,
    *,
    address: str = "127.0.0.1",
    popen: Callable[..., subprocess.Popen[str]] = subprocess.Popen,
    program: str | Path | None = SSHD,
    more: Sequence[str] = (),
    names: Sequence[str] = (),
    **settings: str | Path,
) -> Iterator[Sshd]:
    """Run an sshd with keys of its own in a folder; whoever logs in has these variables.

    `program` is the sshd, `more` are lines of its configuration that come before ours, `names` are
    further names by which it is known.
    """
    settings = {"PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin", **settings}
    for name in ("key", "host"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True
        )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    known = ",".join(f"[{one}]:{port}" for one in (address, *names))
    (folder / "known").write_text(f"{known} {(folder / 'host.pub').read_text()}")
    words = " ".join(f"{name}={value}" for name, value in settings.items())
    config = folder / "config"
    ours = CONFIG.format(port=port, address=address, folder=folder, settings=words)
    config.write_text("".join([*more, ours]))
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    process = popen(
        [str(program), "-D", "-e", "-f", str(config)], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:  # it says so once it listens
        if f"port {port}" in line:
            break
    with process:
        try:
            yield Sshd(folder, port, address)
        finally:
            process.terminate()
