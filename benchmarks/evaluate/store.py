"""Keeps what was measured as JSON, a file for each figure, after each repetition."""

from __future__ import annotations

import json
import os
import platform
import time
from dataclasses import asdict
from datetime import date
from pathlib import Path

from benchmarks.evaluate.figure import Figure, Record, Sample, Setting
from benchmarks.grid import EmulationError, missing
from benchmarks.mpi_launch import RunFailed

MOST_FAULTS = 2


class Store:
    """The records of all figures, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, figure: Figure) -> Record:
        """Return what is known of a figure; an empty record if nothing is."""
        try:
            told = json.loads(self._path(figure).read_text("utf-8"))
        except FileNotFoundError:
            return Record()
        turns = [[Sample(**one) for one in samples] for samples in told.pop("turns")]
        return Record(turns, **told)

    def write(self, figure: Figure, record: Record) -> None:
        """Keep a record, whole or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(figure)
        new = path.with_suffix(".new")
        told = asdict(record)
        turns = ",\n".join(json.dumps(samples) for samples in told.pop("turns"))
        new.write_text(f'{json.dumps(told)[:-1]},\n"turns": [\n{turns}]}}\n', "utf-8")
        new.replace(path)

    def measure(self, figure: Figure, *, short: bool) -> Record:
        """Do the repetitions that are missing, within the budget; each is kept at once."""
        record = self.read(figure)
        if figure.needs_grid and (lacking := missing()):
            record.faults = [lacking]
            return record
        wanted, ends = (2 if short else figure.turns), time.monotonic() + figure.seconds
        begun = time.monotonic()
        while len(record.turns) < wanted and len(record.faults) < MOST_FAULTS:
            if record.turns and time.monotonic() >= (begun if short else ends):
                break
            try:
                samples = list(figure.measure(Setting(len(record.turns), short)))
            except (RunFailed, EmulationError, OSError) as error:
                record.faults.append(str(error)[-400:])
                continue
            record.turns.append([_rounded(one) for one in samples])
            record.loads.append(round(os.getloadavg()[0], 1))
            record.machine, record.day = machine(), date.today().isoformat()
            self.write(figure, record)
        return record

    def _path(self, figure: Figure) -> Path:
        return self._folder / f"{figure.name}.json"


def machine() -> str:
    """Return what this machine is, in a line."""
    cores, python = os.cpu_count(), platform.python_version()
    return f"{cores} cores, {platform.system()} {platform.machine()}, Python {python}"


def _rounded(sample: Sample) -> Sample:
    return Sample(sample.case, sample.at, sample.way, float(f"{sample.value:.4g}"))
