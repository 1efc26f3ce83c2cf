"""A lab of daemons on this machine, and what befalls its peers while a run is on them."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from runtime.peers.daemon import find_running
from tests.faults.fault_kinds import Fault, Kind, Place, Places, Popen, kill_one
from tests.integration.peers.labs import Lab, eventually
from tests.integration.peers.test_gcm_run import credential_of_alice, is_busy
from tools.on_grids import ROOT

SUPERNODE = "supernode:s1"
PEERS = ("peer:h1", "peer:h2", "peer:h3")


class LabPlace(Place):
    """Runs on the peers of a lab that outlives them; what has died is started again."""

    def __init__(self, folder: Path, layout: str, lab: Lab, settings: dict[str, str]) -> None:
        super().__init__(folder, layout)
        self._lab = lab
        self._settings = settings
        self._to_blame: list[str] = []
        for who in (SUPERNODE, *PEERS):
            self.revive(who)
        eventually(lambda: lab.hosts(SUPERNODE) >= set(PEERS))

    def revive(self, who: str) -> None:
        """Start a daemon that does not run; what runs for others there has the marks of runs."""
        if find_running(self._lab.folder(who)) is None:
            os.environ.update(self._settings)
            try:
                more = "" if who == SUPERNODE else "processes = 2\n"
                self._lab.start(who, () if who == SUPERNODE else (SUPERNODE,), more)
            finally:
                for name in self._settings:
                    del os.environ[name]
            if who == SUPERNODE:
                credential_of_alice(self._lab)

    def descriptor(self, script: str, failures: str) -> str:
        return (
            f'<deployment name="try"><application script="{script}" failures="{failures}"/>'
            f'<peers ranks="{self.layout}" wait="10s"/></deployment>'
        )

    def popen(self, command: Sequence[str], env: dict[str, str]) -> Popen:
        base = self._lab.base
        return super().popen(
            command,
            env
            | {
                "GCM_CREDENTIAL": str(base / "alice.credential"),
                "GCM_FOLDER": str(base / "gcm"),
                "PYTHONPATH": str(ROOT),
            },
        )

    def do(self, fault: Fault, run: Popen, dice: random.Random) -> None:
        busy = [who for who in PEERS if is_busy(self._lab, who)]
        peer = dice.choice(busy or PEERS)
        self._to_blame = [peer]
        match fault.name:
            case "peer killed":
                self._lab.kill(peer)
            case "peer halted":
                found = find_running(self._lab.folder(peer))
                assert found is not None
                found.halt()
            case "supernode killed":
                self._lab.kill(SUPERNODE)
            case "peer asleep" | "supernode asleep":
                asleep = find_running(
                    self._lab.folder(peer if fault.name == "peer asleep" else SUPERNODE)
                )
                assert asleep is not None
                os.kill(asleep.pid, signal.SIGSTOP)
                time.sleep(dice.uniform(0.3, 1.5))
                os.kill(asleep.pid, signal.SIGCONT)
            case "Ctrl-C":
                run.send_signal(signal.SIGINT)
            case "gcm-deploy":
                run.kill()
            case name:
                self._to_blame = list(PEERS)
                found_daemons = [find_running(self._lab.folder(who)) for who in PEERS]
                kill_one(dice, name, *(one.pid for one in found_daemons if one is not None))

    def blames(self, told: str) -> bool:
        return any(who.partition(":")[2] in told for who in self._to_blame)

    def temporary(self) -> list[Path]:
        rooms = [self._lab.folder(who).path / "rooms" for who in PEERS]
        return [*super().temporary(), *(room for room in rooms if room.is_dir())]

    def left(self) -> list[str]:
        return [
            f"{who} is busy"
            for who in PEERS
            if find_running(self._lab.folder(who)) is not None and is_busy(self._lab, who)
        ]


@contextmanager
def in_a_lab(folder: Path, settings: dict[str, str]) -> Iterator[Places]:
    """Let all runs take place in one lab."""
    base = folder.parent / "lab"
    base.mkdir()
    lab = Lab(base)

    @contextmanager
    def place(layout: str, _: Fault) -> Iterator[Place]:
        yield LabPlace(folder, layout, lab, settings)

    try:
        yield place
    finally:
        lab.close()


LAB = Kind(
    "lab",
    ("2", "3", "4"),
    (
        Fault("none", is_harmless=True),
        Fault("peer killed", codes=(204, 205)),
        Fault("peer halted", codes=(204, 205)),
        Fault("peer asleep", is_harmless=True),
        Fault("supernode killed", is_harmless=True),
        Fault("supernode asleep", is_harmless=True),
        Fault("gcm-guard", codes=(204, 205)),
        Fault("gcm-front-end", codes=(204,)),
        Fault("gcm-pmi", codes=(204,)),
        Fault("gcm-deploy", codes=(-9,), can_be_early=True),
        Fault("Ctrl-C", codes=(130, -2), can_be_early=True),
    ),
    in_a_lab,
)
