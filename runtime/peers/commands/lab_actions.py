"""What `gcm-peer lab` does."""

from __future__ import annotations

import argparse
import datetime
import ipaddress
import json
import sys
from contextlib import suppress
from pathlib import Path

from gcm.cli.output import columns_of
from runtime.peers.configuration.folder import PeerFolder, user_credential, user_folder
from runtime.peers.configuration.settings import PORT
from runtime.peers.credentials.authority import Authority
from runtime.peers.credentials.credential import Credential
from runtime.peers.errors import PeerError, of_file
from runtime.peers.model import Address, MemberRole, Principal
from runtime.shown_text import shown_table


def create(options: argparse.Namespace) -> int:
    """Make a lab."""
    supernodes = [Address.parse(one, PORT) for one in options.supernodes]
    Authority.create(options.name, _labs() / options.name, _now(), supernodes)
    print(
        f"the lab {options.name} is in {_labs() / options.name};"
        " whoever has this folder controls the lab"
    )
    print(f"next: gcm-peer lab invite {_name_for(supernodes)} --supernode")
    return 0


def _name_for(supernodes: list[Address]) -> str:
    """Return a name for the first supernode: that of its host, unless an address stands there."""
    with suppress(ValueError, IndexError):
        ipaddress.ip_address(supernodes[0].host)
        return "lab1"
    return supernodes[0].host if supernodes else "lab1"


def invite(options: argparse.Namespace) -> int:
    """Write a credential."""
    authority = _lab(options.lab)
    principal = Principal.parse(f"{options.role}:{options.name}")
    file = Path(options.output or authority.folder / f"{options.name}.credential")
    if file.exists():
        raise PeerError("the file already exists", place=str(file), cure="Name another one with -o")
    authority.invite(principal, _now(), days=options.days).write(file)
    print(f"the credential of {principal} in {authority.lab}, with its private key: {file}")
    print(f"next: copy it there securely; then, there: {_NEXT[principal.role]} {file.name}")
    return 0


def credential_file(written: str) -> Path:
    """Return the file that somebody names: one there is, or one that this user has invited with.

    Credentials are made in the folder of the lab, where no run copies them with its program.
    Whoever is a member on the same machine names them as after the copy: `desk7.credential`.
    """
    file = Path(written)
    if not file.exists() and file.name == written and _labs().is_dir():
        made = [one for folder in _labs().iterdir() if (one := folder / written).is_file()]
        if len(made) == 1:
            return made[0]
    return file


_NEXT = {
    MemberRole.USER: "gcm-peer lab join",
    MemberRole.PEER: "gcm-peer boot --credential",
    MemberRole.SUPERNODE: "gcm-peer supernode --credential",
}


def join(options: argparse.Namespace) -> int:
    """Put a credential where it belongs."""
    credential = Credential.read(credential_file(options.file))
    file = place_of(credential, options.folder)
    install(credential, file)
    print(f"{credential.principal} of {credential.header.lab} is in {file}")
    return 0


def place_of(credential: Credential, folder: str) -> Path:
    """Return where the credential of a principal belongs."""
    if credential.principal.role is MemberRole.USER:
        return user_credential()
    is_supernode = credential.principal.role is MemberRole.SUPERNODE
    return PeerFolder.of(folder, is_supernode=is_supernode).credential


_BESIDE = {
    MemberRole.USER: "Keep both: let GCM_CREDENTIAL name the one to be used",
    MemberRole.PEER: "Keep both: give each a folder of its own with --folder",
    MemberRole.SUPERNODE: "Keep both: give each a folder of its own with --folder",
}


def install(credential: Credential, file: Path) -> None:
    """Write a credential into a folder of its own; raises PeerError.

    It takes the place of an older one of the same member only, or of one that is of no use.
    """
    there = None
    with suppress(PeerError):
        there = Credential.read(file)
    own = credential.principal, credential.header.lab
    if there is not None and (there.principal, there.header.lab) != own:
        raise PeerError(
            f"there is the credential of {there.principal} in {there.header.lab}, "
            f"and this one is of {own[0]} in {own[1]}",
            place=str(file),
            cure=_BESIDE[credential.principal.role],
        )
    with of_file("cannot be made", file.parent):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    credential.write(file)


def show(options: argparse.Namespace) -> int:
    """Show a lab."""
    authority = _lab(options.lab)
    invited = [(one.principal, one.made, one.until) for one in authority.invited()]
    supernodes = [str(one) for one in authority.supernodes]
    if options.json:
        invitations = [
            dict(zip(("principal", "made", "until"), one, strict=True)) for one in invited
        ]
        print(json.dumps({"lab": authority.lab, "supernodes": supernodes, "invited": invitations}))
        return 0
    print(f"lab {authority.lab}, supernodes: {', '.join(supernodes) or 'none'}")
    heads, width = ["invited", "made", "good until"], columns_of(sys.stdout)
    print(shown_table(heads, invited, width=width), end="")
    return 0


def _labs() -> Path:
    return user_folder() / "labs"


def _lab(named: str) -> Authority:
    """Open a lab of this user: the one that is named, or the only one."""
    if named:
        return Authority.open(_labs() / named)
    found = sorted(one.name for one in _labs().iterdir()) if _labs().is_dir() else []
    if len(found) == 1:
        return Authority.open(_labs() / found[0])
    raise PeerError(
        f"there are several labs: {', '.join(found)}" if found else "there is no lab",
        place=str(_labs()),
        cure="Name one with --lab" if found else "Make one with: gcm-peer lab create NAME",
    )


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
