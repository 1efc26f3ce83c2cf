"""`gcm-peer top` and `gcm-peer web`: look at the lab."""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

from gcm.cli.output import columns_of
from runtime.interruptible import has_happened
from runtime.peers.configuration.folder import PeerFolder, user_credential
from runtime.peers.configuration.settings import PORT
from runtime.peers.connections.dialling import MemberDialler
from runtime.peers.credentials.credential import Credential
from runtime.peers.daemon import find_running
from runtime.peers.errors import PeerError
from runtime.peers.model import Address, MemberRole
from runtime.peers.watching.asking import LabWatcher
from runtime.peers.watching.view import LabView, shown_rtt
from runtime.shown_text import LONGEST_CELL, shown, shown_table
from runtime.views.page.server import PageServer, PageState

if TYPE_CHECKING:
    from rich.text import Text

NOT_RUNNING = 3
EVERY = 2.0
_PEERS = ("peer", "address", "share", "round trip", "site", "load", "memory free", "runs", "")
_RUNS = ("run", "user", "phase", "places", "peers, with ranks")


def top(options: argparse.Namespace) -> int:
    """Show the lab again and again in a terminal; once where there is none."""
    watcher = _watcher(options)
    if watcher is None:
        return NOT_RUNNING
    if options.json:
        print(json.dumps(asdict(watcher.snapshot()), indent=1))
    elif options.once or not sys.stdout.isatty():
        print(_text(watcher.snapshot(), columns_of(sys.stdout)), end="")
    else:
        _live(watcher)
    return 0


def web(options: argparse.Namespace) -> int:
    """Show the lab as a page to a browser of this machine, until Ctrl-C."""
    watcher = _watcher(options)
    if watcher is None:
        return NOT_RUNNING
    first = watcher.snapshot()  # what is wrong is said here and not in the browser
    title = f"{first.lab}, seen by {first.name}"
    document = first.document

    def state(_: int) -> PageState:
        nonlocal document
        try:
            document = watcher.snapshot().document
        except PeerError as error:
            document = {**document, "state": str(error)}
        return PageState(document)

    try:
        server = PageServer(title, state, options.port, EVERY)
    except OSError as error:
        raise PeerError(
            f"port {options.port} is not available: {error.strerror}",
            cure="Choose another one with --port",
        ) from error
    print(server.url, flush=True)
    print("open that in a browser of this machine; Ctrl-C ends it", file=sys.stderr)
    with suppress(KeyboardInterrupt):
        has_happened(threading.Event())
    server.close()
    return 0


def _watcher(options: argparse.Namespace) -> LabWatcher | None:
    user = None
    if user_credential().exists():
        user = MemberDialler(Credential.read(user_credential(), role=MemberRole.USER))
    if options.address:
        if user is None:
            raise PeerError(
                "only users may look at other machines",
                cure="Get a credential (gcm-peer lab invite NAME --user) and accept it "
                "(gcm-peer lab join FILE)",
            )
        return LabWatcher(user, Address.parse(options.address, PORT), None, user)
    folder = PeerFolder.of(options.folder, is_supernode=options.supernode)
    found = find_running(folder)
    if found is None:
        print(f"no daemon runs in {folder.path}", file=sys.stderr)
        return None
    own = MemberDialler(Credential.read(found.folder.credential))
    return LabWatcher(own, found.address, own.credential.principal, user)


def _peer_rows(view: LabView) -> list[tuple[object, ...]]:
    return [
        (
            one.name,
            one.address,
            one.share,
            shown_rtt(one.rtt),
            one.site or "",
            "" if one.machine.load is None else f"{one.machine.load:.2f} of {one.machine.cores}",
            f"{one.machine.free / 1e9:.1f} GB" if one.machine.free else "",
            one.busy,
            one.note,
        )
        for one in view.peers
    ]


def _run_rows(view: LabView) -> list[tuple[object, ...]]:
    return [
        (one.program, one.user, one.phase, one.processes, ", ".join(one.peers)) for one in view.runs
    ]


def _text(view: LabView, width: int) -> str:
    text = f"{view.lab}, seen by {view.name}: {shown(view.state, LONGEST_CELL)}\n"
    text += shown_table(_PEERS, _peer_rows(view), width=width)
    return text + ("\n" + shown_table(_RUNS, _run_rows(view), width=width) if view.runs else "")


def _live(watcher: LabWatcher) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console()
    with (
        Live(console=console, screen=True, auto_refresh=False) as live,
        suppress(KeyboardInterrupt),
    ):
        while True:
            try:
                live.update(_picture(watcher.snapshot(), console.width), refresh=True)
            except PeerError as error:
                live.update(Text(str(error), style="bold red"), refresh=True)
            time.sleep(EVERY)


def _picture(view: LabView, width: int) -> Text:
    from rich.text import Text

    heading, _, tables = _text(view, width).partition("\n")
    answered = f"{view.answered} of {len(view.peers)} peers tell of their runs"
    parts = Text(heading, style="bold"), Text(tables, style="not bold"), Text(answered, style="dim")
    return Text("\n", no_wrap=True).join(parts)
