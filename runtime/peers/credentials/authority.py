"""The authority of a lab: a folder of one user, which makes the credentials of all others.

```
FOLDER/authority.pem   the key and the certificate of the authority; who has it, has the lab
FOLDER/supernodes      where supernodes are; goes into each credential
FOLDER/invited         a line for each credential: when, for whom, until when
```
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gcm.records import dataclass
from runtime.peers.credentials.credential import Credential, Header, write_secret
from runtime.peers.errors import PeerError, of_file
from runtime.peers.model import Address, Principal
from runtime.transport.certificate import CertificateAuthority

LIFE_OF_LAB = datetime.timedelta(days=3650)
DAYS = 365
"""For how long a credential is good if nobody says otherwise."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)
KEY, SUPERNODES, INVITED = "authority.pem", "supernodes", "invited"


@dataclass(frozen=True, slots=True)
class Invited:
    """One credential that was made."""

    principal: str
    made: str
    until: str


class Authority:
    """What makes credentials; the folder is that of one user and of nobody else."""

    def __init__(self, folder: Path, issuer: CertificateAuthority) -> None:
        self.folder = folder
        self._issuer = issuer

    @property
    def lab(self) -> str:
        """The name of the lab."""
        return self._issuer.name

    @classmethod
    def create(
        cls, lab: str, folder: Path, now: datetime.datetime, supernodes: Sequence[Address] = ()
    ) -> Authority:
        """Make a lab; raises PeerError if the folder has one, or cannot be written."""
        if not _NAME.fullmatch(lab):
            raise PeerError(
                f"{lab!r} cannot be the name of a lab", cure="Use letters, digits, '.', '_', '-'"
            )
        issuer = CertificateAuthority.create(lab, now, LIFE_OF_LAB)
        with of_file("cannot be made", folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (folder / KEY).exists():
            raise PeerError(
                "a lab of that name already exists",
                place=str(folder),
                cure="Invite with it: gcm-peer lab invite NAME --user, or choose another name",
            )
        write_secret(folder / SUPERNODES, "".join(f"{one}\n" for one in supernodes))
        write_secret(folder / KEY, issuer.pem, may_replace=False)
        return cls(folder, issuer)

    @classmethod
    def open(cls, folder: Path) -> Authority:
        """Read a lab; raises PeerError."""
        cure = "Make a lab with: gcm-peer lab create NAME"
        with of_file("the authority of a lab cannot be read", folder / KEY, cure):
            return cls(folder, CertificateAuthority.read((folder / KEY).read_bytes()))

    @property
    def supernodes(self) -> tuple[Address, ...]:
        """Where supernodes are; raises PeerError."""
        file = self.folder / SUPERNODES
        with of_file("cannot be read", file), suppress(FileNotFoundError):
            return tuple(Address.parse(one) for one in file.read_text("ascii").split())
        return ()

    def invite(
        self, principal: Principal, now: datetime.datetime, *, days: int = DAYS
    ) -> Credential:
        """Return a new credential, and note in the folder that it was made."""
        life = datetime.timedelta(days=days)
        own = self._issuer.issue(principal.name, now, life, unit=str(principal.role))
        header = Header(principal, self.lab, self.supernodes)
        made = Credential(header, own + self._issuer.certificate)
        line = f"{now:%Y-%m-%dT%H:%M:%SZ} {principal} {now + life:%Y-%m-%d}\n"
        file = self.folder / INVITED
        with of_file("cannot be written", file), file.open("a", encoding="ascii") as opened:
            opened.write(line)
        return made

    def invited(self) -> list[Invited]:
        """Return the credentials that were made."""
        try:
            lines = (self.folder / INVITED).read_text(encoding="ascii").splitlines()
        except FileNotFoundError:
            return []
        words = [line.split() for line in lines]
        return [Invited(who, made, until) for made, who, until in words]
