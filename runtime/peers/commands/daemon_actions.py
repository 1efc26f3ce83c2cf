"""What `gcm-peer` does with the daemon of this machine, and asks others."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from contextlib import suppress
from typing import Any

from gcm.cli.output import columns_of, counted
from runtime.peers.commands.lab_actions import credential_file, install
from runtime.peers.configuration.folder import PeerFolder, user_credential
from runtime.peers.configuration.reading import read
from runtime.peers.configuration.settings import PORT, SETTINGS, reference, template
from runtime.peers.connections.dialling import MemberDialler
from runtime.peers.contracts import StatusService
from runtime.peers.credentials.credential import Credential
from runtime.peers.daemon import boot, find_running, logging_to, serve
from runtime.peers.daemon.talking import TalkHolder
from runtime.peers.errors import PeerError, of_file
from runtime.peers.membership import LabHosts, read_text
from runtime.peers.model import Address, MemberRole, Principal
from runtime.shown_text import LONGEST_CELL, shown, shown_table

FEW_DAYS = 30
"""A credential that is good for less than that is shown as something to fix."""
NOT_RUNNING = 3
"""The exit code where no daemon runs here."""

SUPERNODE_TIMEOUT = 3.0
MOST_SHOWN = 10_000
"""So many hosts are shown at most."""


def boot_peer(options: argparse.Namespace) -> int:
    """Start a peer."""
    return _start(options, MemberRole.PEER)


def boot_supernode(options: argparse.Namespace) -> int:
    """Start a supernode."""
    return _start(options, MemberRole.SUPERNODE)


def _start(options: argparse.Namespace, role: MemberRole) -> int:
    folder = PeerFolder.of(options.folder, is_supernode=role is MemberRole.SUPERNODE)
    if found := find_running(folder):
        which = " --supernode" if role is MemberRole.SUPERNODE else ""
        raise PeerError(
            f"it already runs, as process {found.pid}",
            place=str(folder.path),
            cure=f"gcm-peer status{which} shows it, gcm-peer halt{which} ends it;"
            " another one on this machine needs a folder of its own: --folder",
        )
    if options.credential:
        install(Credential.read(credential_file(options.credential), role=role), folder.credential)
    credential = Credential.read(folder.credential, role=role)
    configuration = read(folder.configuration)
    if options.foreground:
        with logging_to(None, configuration.text("log_level")):
            serve(folder, lambda _: None)
        return 0
    address = boot(folder)
    if options.json:
        print(json.dumps({"principal": str(credential.principal), "address": str(address)}))
    else:
        print(f"{credential.principal} of {credential.header.lab} runs at {address}")
        print(f"its log: {folder.log}")
        named = configuration.supernodes or credential.header.supernodes
        if role is MemberRole.PEER and not named:
            print(
                "gcm-peer: no supernode is known: name one in the configuration (supernodes), or "
                "make the lab with --supernode",
                file=sys.stderr,
            )
    return 0


def halt(options: argparse.Namespace) -> int:
    """End the daemon."""
    found = find_running(_folder(options))
    if found is not None:
        found.halt()
    if options.json:
        print(json.dumps({"halted": found.pid if found else None}))
    elif found is None:
        print(_not_running(options), file=sys.stderr)
    else:
        print(f"{_member_in(found.folder)} has ended (process {found.pid})")
    return 0 if found else NOT_RUNNING


def _member_in(folder: PeerFolder) -> str:
    """Return whose daemon runs in a folder."""
    with suppress(PeerError):
        credential = Credential.read(folder.credential)
        return f"{credential.principal} of {credential.header.lab}"
    return f"the daemon in {folder.path}"


def _not_running(options: argparse.Namespace) -> str:
    """Say that no daemon runs, and whether the other one of this machine is meant."""
    folder = _folder(options)
    text = f"no daemon runs in {folder.path}"
    other = PeerFolder.of(is_supernode=not options.supernode)
    if options.folder or find_running(other) is None:
        return text
    word = "without" if options.supernode else "with"
    return f"{text}; one does in {other.path}: say the same {word} --supernode"


def status(options: argparse.Namespace) -> int:
    """Show a daemon."""
    status = _asked(options)
    if options.json:
        print(json.dumps(status, indent=1))
    elif status is None:
        print(_not_running(options), file=sys.stderr)
    else:
        print(_status_text(status), end="")
    return NOT_RUNNING if status is None else 0


def _status_text(status: dict[str, Any]) -> str:
    known = status["membership"]
    lines = [f"{status['name']} of {status['lab']}, up for {_duration(status['seconds'])}"]
    if "addresses" in known:
        lines += [f"address: {', '.join(known['addresses'])}"]
        lines += [f"supernode: {known['supernode'] or 'none'}; {known['state']}"]
    else:
        lines += [f"other supernodes: {', '.join(known['supernodes']) or 'none'}"]
    lines += [f"hosts: {len(known['hosts'])} known"]
    if "reservation" in status:
        share = status["reservation"]
        at_once = counted(share["applications"], "application")
        at_once = at_once if share["applications"] else "any number of applications"
        processes = "1 process" if share["processes"] == 1 else f"{share['processes']} processes"
        lines += [f"share: {at_once} of {processes}"]
        lines += [share["owner"]] if share["owner"] else []
        lines += [
            _run_text(run, status.get("launch", {}).get("ranks", {})) for run in share["runs"]
        ]
    lines += ["wrong: " + ": ".join(fault.split("\n    ")) for fault in known.get("faults", ())]
    if status["days_left"] < FEW_DAYS:
        left = f"{status['days_left']:.0f} days"
        lines += [f"wrong: its credential is good for {left} only; ask the keeper of the lab"]
    return "".join(f"{shown(line, LONGEST_CELL)}\n" for line in lines)


def _run_text(run: dict[str, Any], ranks: dict[str, Any]) -> str:
    from runtime.peers.watching.view import program_of, ranks_text

    application = run["application"]
    who = f"{program_of(application)} of {run['user']}"
    if application in ranks:
        return f"running: {who}, ranks {ranks_text(ranks[application])}"
    state = "starting" if run["phase"] == "confirmed" else run["phase"]
    return f"{state}: {who}, {run['processes']} processes"


def hosts(options: argparse.Namespace) -> int:
    """Show the hosts that are known: to a supernode of the lab, and to the daemon here."""
    status = _asked(options)
    found = _kept(_folder(options)) if status is None else status["membership"]["hosts"]
    told = None if options.address or options.supernode else _of_a_supernode(options, status)
    if told is not None:
        found = _together(found, told)
    found.sort(key=lambda one: (one.get("milliseconds") is None, one.get("milliseconds") or 0))
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        heads, width = ["host", "address", "share", "ms", ""], columns_of(sys.stdout)
        if found:
            print(shown_table(heads, map(_host_row, found), width=width), end="")
        if status is None and told is None:
            if found:
                print("these are the hosts that were known last", file=sys.stderr)
            elif not any(one.exists() for one in (_folder(options).credential, user_credential())):
                cure = "join a lab (gcm-peer lab join FILE), or name a daemon: gcm-peer hosts HOST"
                print(f"no daemon runs here, and there is no credential: {cure}", file=sys.stderr)
        elif told is None and not options.address and not options.supernode:
            nobody = "no supernode has named hosts"
            print(f"{nobody}: these are the hosts that this peer knows", file=sys.stderr)
    return NOT_RUNNING if status is None and told is None else 0


def _of_a_supernode(options: argparse.Namespace, status: dict[str, Any] | None) -> LabHosts | None:
    """Return what a supernode of the lab names, as the daemon here or the user asks it.

    Where that cannot be found out there is still what is known here: the fault is told beside it.
    """
    try:
        return _named_by_a_supernode(options, status)
    except PeerError as fault:
        print(f"gcm-peer: {fault}", file=sys.stderr)
        return None


def _named_by_a_supernode(
    options: argparse.Namespace, status: dict[str, Any] | None
) -> LabHosts | None:
    own, user = _folder(options).credential, user_credential()
    file = own if own.exists() else user
    if not file.exists():
        return None
    credential = Credential.read(file)
    known = status["membership"].get("supernode") if status else ""
    configured = read(_folder(options).configuration).supernodes if file == own else ()
    supernodes = [*((Address.parse(known),) if known else ()), *configured]
    asked = LabHosts("", credential.header.lab)
    TalkHolder(MemberDialler(credential, SUPERNODE_TIMEOUT), threading.Lock()).hold(
        asked.find(supernodes or credential.header.supernodes, MOST_SHOWN)
    )
    return asked


def _together(found: list[dict[str, Any]], told: LabHosts) -> list[dict[str, Any]]:
    """Return the hosts of a supernode with what is known of them here, and those that are gone."""
    here = {one["name"]: one for one in found}
    there = {str(one.principal): one.facts for one in told.members}
    rows = [here.get(name, {}) | facts for name, facts in there.items()]
    others = [one for name, one in here.items() if name not in there]
    return rows + [one | {"silent": told.is_complete or one.get("silent")} for one in others]


def _host_row(host: dict[str, Any]) -> tuple[object, ...]:
    member = Principal.parse(host["name"])
    is_peer = member.role is MemberRole.PEER
    share = f"{host['applications'] or 'any'} x {host['processes']}" if is_peer else ""
    rtt = host.get("milliseconds")
    note = "gone" if host.get("silent") else "" if is_peer else str(member.role)
    return (
        member.name,
        ", ".join(host["addresses"]),
        share,
        "" if rtt is None else f"{rtt:.2f}",
        note,
    )


def _kept(folder: PeerFolder) -> list[dict[str, Any]]:
    """Return the hosts in the file of a peer that does not run."""
    try:
        with of_file("cannot be read", folder.hosts), suppress(FileNotFoundError):
            rows, _ = read_text(folder.hosts.read_text(encoding="ascii"))
            return [row.peer.facts for row in rows]
    except PeerError as error:
        error.place = str(folder.hosts)
        raise
    return []


def _asked(options: argparse.Namespace) -> dict[str, Any] | None:
    """Return the status of the daemon here, or of the one at an address; None if none runs."""
    if options.address:
        dialler = MemberDialler(Credential.read(user_credential(), role=MemberRole.USER))
        address, expected = Address.parse(options.address, PORT), None
    else:
        found = find_running(_folder(options))
        if found is None:
            return None
        dialler = MemberDialler(Credential.read(found.folder.credential))
        address, expected = found.address, dialler.credential.principal
    with dialler.dial(address, expected) as connection:
        return connection.stub(StatusService).status(dialler.me)


def config(options: argparse.Namespace) -> int:
    """Show the settings."""
    if options.template or options.reference:
        print(template() if options.template else reference(), end="")
        return 0
    folder = _folder(options)
    found = read(folder.configuration)
    values = {one.name: found.written.get(one.name, one.default) for one in SETTINGS}
    if options.json:
        print(json.dumps(values, indent=1))
        return 0
    print(f"# {folder.configuration}")
    for name, value in values.items():
        print(f"{name} = {json.dumps(value)}{'' if name in found.written else '  # the default'}")
    return 0


def _folder(options: argparse.Namespace) -> PeerFolder:
    return PeerFolder.of(options.folder, is_supernode=options.supernode)


def _duration(seconds: float) -> str:
    minutes, hours = seconds / 60, seconds / 3600
    if hours >= 1:
        return f"{hours:.1f} hours"
    return f"{minutes:.1f} minutes" if minutes >= 1 else f"{seconds:.0f} seconds"
