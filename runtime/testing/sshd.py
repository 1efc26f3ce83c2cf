"""An sshd of the current user on this machine: what is far away, for tests and benchmarks."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

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
    ports: Mapping[str, int] = field(default_factory=dict)
    """The further ports, by their purpose."""

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


def free_ports(count: int) -> list[int]:
    """Return ports of this machine at which nobody listens now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextmanager
def running_sshd(
    folder: Path,
    *,
    address: str = "127.0.0.1",
    popen: Callable[..., subprocess.Popen[str]] = subprocess.Popen,
    program: str | Path | None = SSHD,
    more: Sequence[str] = (),
    names: Sequence[str] = (),
    forced: Mapping[str, Path | None] = MappingProxyType({}),
    **settings: str | Path,
) -> Iterator[Sshd]:
    """Run an sshd with keys of its own in a folder; whoever logs in has these variables.

    `program` is the sshd, `more` are lines of its configuration that come before ours, `names` are
    further names by which it is known. `forced` has further ports by purpose, each with the script
    that runs there whatever command is given, or None.
    """
    settings = {"PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin", **settings}
    for name in ("key", "host"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True
        )
    port, *others = free_ports(1 + len(forced))
    ports = dict(zip(forced, others, strict=True))
    known = ",".join(f"[{one}]:{each}" for one in (address, *names) for each in (port, *others))
    (folder / "known").write_text(f"{known} {(folder / 'host.pub').read_text()}")
    words = " ".join(f"{name}={value}" for name, value in settings.items())
    config = folder / "config"
    ours = CONFIG.format(port=port, address=address, folder=folder, settings=words)
    further = (f"Port {each}\n" for each in others)
    matches = (
        f"Match LocalPort {ports[name]}\n  ForceCommand {script}\n"
        for name, script in forced.items()
        if script is not None
    )
    config.write_text("".join([*more, *further, ours, *matches]))
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    process = popen(
        [str(program), "-D", "-e", "-f", str(config)], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    left = {port, *others}
    for line in process.stderr:  # it says so of each port once it listens there
        left -= {one for one in left if f"port {one}." in line}
        if not left:
            break
    with process:
        try:
            assert not left, f"sshd did not start on {config.read_text()}"
            yield Sshd(folder, port, address, ports)
        finally:
            process.terminate()
