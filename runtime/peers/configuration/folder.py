"""The folder of a peer: what it is told, and what it keeps.

```
FOLDER/peer.toml      the configuration
FOLDER/credential     who the peer is
FOLDER/hosts.json     the hosts that it knew last
FOLDER/running.json   the process that runs, its port; locked by it as long as it lives
FOLDER/peer.log       what it has to say
FOLDER/cache/         staged files
FOLDER/doors/         the sockets through which processes get connections at the peer's port
```
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from runtime.peers.errors import of_file


class PeerFolder:
    """The folder of one peer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.configuration = path / "peer.toml"
        """The file with the settings."""
        self.credential = path / "credential"
        self.hosts = path / "hosts.json"
        """The file with the hosts that were known last."""
        self.running = path / "running.json"
        """The file that the running process has locked."""
        self.log = path / "peer.log"
        self.cache = path / "cache"
        """Where staged files are."""
        self.doors = path / "doors"
        """Where the sockets are through which processes get connections at the peer's port."""

    def make(self) -> None:
        """Make the folder, for its owner alone; raises PeerError."""
        with of_file("cannot be made", self.path):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.path.stat().st_uid == os.getuid():
                self.path.chmod(0o700)

    @classmethod
    def of(
        cls,
        named: str = "",
        environment: Mapping[str, str] = os.environ,
        *,
        is_supernode: bool = False,
    ) -> PeerFolder:
        """Return the folder that is named, else that in GCM_PEER_FOLDER, else ~/.gcm/peer.

        That of a supernode is ~/.gcm/supernode if none is named.
        """
        found = named or ("" if is_supernode else environment.get("GCM_PEER_FOLDER", ""))
        if found:
            return cls(Path(found).expanduser().absolute())
        return cls(user_folder(environment) / ("supernode" if is_supernode else "peer"))


def user_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder in which all of this is kept: GCM_FOLDER, else ~/.gcm."""
    return Path(environment.get("GCM_FOLDER") or "~/.gcm").expanduser()


def user_credential(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the file with the credential of the user who works here."""
    found = environment.get("GCM_CREDENTIAL", "")
    return Path(found).expanduser() if found else user_folder(environment) / "credential"
