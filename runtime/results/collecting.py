"""Brings home the results of one cluster: during the run, and at its end."""

from __future__ import annotations

import itertools
import logging
import os
import shlex
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING

from gcm.records import dataclass
from runtime.deployment.model import DeployedCluster
from runtime.deployment.planning.steps import FileMove
from runtime.launchers.contents import taken
from runtime.launchers.errors import FetchFailed, LaunchError, StagingFailed
from runtime.launchers.fetching import Stalled
from runtime.lifecycle.outcome import KeptFolder, Results
from runtime.results.incoming import IncomingFiles
from runtime.results.instructions import Instructions
from runtime.results.known_results import RECORD
from runtime.results.open_folder import copy_file
from runtime.results.result_folders import FolderGone, ResultFolder
from runtime.results.result_placement import PlacedResult, ResultPlacement, WhyKept
from runtime.results.retries import Retries
from runtime.results.selection import ArrivingFile, Selection, select
from runtime.shown_text import LONGEST_CELL, shown, shown_lines

if TYPE_CHECKING:
    from runtime.launchers.contents import Entry

ROUNDS = 3
"""How often to request a file that changes while it is read."""

PAUSE = 1.0

MOST_TOLD = 10
"""How many failed files an error explains."""

SLOW_SECONDS = 3.0
"""Seconds after which progress is reported while results are still coming."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KeptAside:
    """A result that is not at the path it was meant for but at another one, and why."""

    meant_for: str
    path: str
    why: WhyKept


@dataclass(slots=True)
class Fetcher:
    """Brings home the results of one cluster.

    `home` is the program folder; `make_room` makes a folder for incomplete files. What the
    `instructions` judge to be one comes under another name, unless the descriptor names it; so
    does what is meant for the place of a user's file, see `ResultPlacement`.
    """

    folder: ResultFolder
    home: str
    moves: tuple[FileMove, ...]
    placement: ResultPlacement
    make_room: Callable[[str], str]
    given_up: Callable[[], bool]
    instructions: Instructions = Instructions()
    results: Results = field(init=False)
    _incoming: IncomingFiles | None = None
    _home: dict[tuple[str, str], Entry] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)
    _settled: threading.Event = field(default_factory=threading.Event)
    _warnings: dict[str, None] = field(default_factory=dict)
    _room: str = ""
    _aside: dict[str, KeptAside] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Initialise the state."""
        self.results = Results(self.folder.cluster.path)

    # --- during the run -----------------------------------------------------------------------

    def repeat(self) -> None:
        """Fetch periodically what is to be fetched during the run, until `end`."""
        often = tuple(one for one in self.moves if one.every)
        pause = min(one.every for one in often)
        while not self._ended.wait(pause):
            try:
                with self._lock:
                    if not self._ended.is_set():
                        self._fetch(often)
            except (LaunchError, OSError) as fault:
                if not self._ended.is_set():
                    self._warn(f"nothing could be fetched while the run goes on: {fault}")

    @property
    def aside(self) -> Collection[KeptAside]:
        """What was kept under other names."""
        return self._aside.values()

    def end(self) -> None:
        """Stop fetching during the run."""
        self._ended.set()

    def await_settled(self) -> None:
        """Wait until all is home, or has failed to come."""
        self._settled.wait()

    def discard(self) -> None:
        """Fetch nothing and remove the folder; warn about what cannot be removed."""
        self.end()
        self.folder.await_end(self.given_up)
        try:
            self.folder.remove()
        except LaunchError as fault:
            where = self.folder.kept(self._target).where
            self._warn(f"its replicas brought the results, but {where} stays: {fault}")
        self._conclude()

    # --- at the end ---------------------------------------------------------------------------

    def finish(self) -> None:
        """Fetch everything and remove the folder; if it raises FetchFailed, the folder stays.

        It fails also when a single file could not be fetched.
        """
        try:
            self.end()
            self.folder.await_end(self.given_up)
            slow = threading.Timer(SLOW_SECONDS, self._report_slow)
            slow.daemon = True
            slow.start()
            try:
                self._finish()
            finally:
                slow.cancel()
                slow.join()
        finally:
            self._settled.set()

    def _finish(self) -> None:
        with self._lock:
            if self.given_up():
                raise self._failed("Ctrl-C was pressed again")
            try:
                chosen, failed = self._fetch_whatever_happens()
            except (LaunchError, OSError) as fault:
                raise self._failed(fault) from fault
            for one in chosen.skipped:
                self._warn(f"not brought home: {shown(one, LONGEST_CELL)}")
            self.results = self._came(chosen)
            self._conclude()
            if failed:
                raise self._failed(_listed(failed))
            if chosen.others and not chosen.has_any and not self.folder.is_at_home:
                self._keep_unasked(chosen.others)
                return
            try:
                self.folder.remove()
            except LaunchError as fault:
                where = self.folder.kept(self._target).where
                self._warn(
                    f"all results were brought home, but {where} could not be removed: {fault}"
                )
            self._conclude()

    def _keep_unasked(self, number: int) -> None:
        """Keep a folder with new files that no source names: more often a mistake than intended."""
        kept = self.folder.kept(self._target)
        sources = ", ".join(repr(move.source) for move in self.moves)
        files = "1 new file was" if number == 1 else f"{number} new files were"
        self._warn(
            f"{sources} matched nothing, and {files} not asked for, so {kept.where} is kept."
            f" {kept.cure}; if these files are no results, name the clusters that"
            " have some in clusters=..."
        )
        self._conclude(kept)

    def _report_slow(self) -> None:
        _log.warning(
            "%s: results are still coming home; Ctrl-C, pressed twice, leaves them there",
            self.folder.cluster.path,
        )

    @property
    def _target(self) -> str:
        return self.moves[0].destination if self.moves else self.home

    def _fetch_whatever_happens(self) -> tuple[Selection, dict[str, str]]:
        """Fetch everything, again while the connection breaks; raises LaunchError, OSError."""
        retries = Retries(time.monotonic(), self._size)
        while True:
            try:
                self.folder.reach()
                chosen, failed = self._fetch(self.moves)
                for _ in range(ROUNDS - 1):
                    if failed:
                        chosen, failed = self._fetch(self.moves)
                return chosen, failed
            except LaunchError as fault:
                if retries.is_over(fault, self._size, time.monotonic()) or self.given_up():
                    raise
                self._warn(f"the connection to the results broke; trying again: {fault.what}")
                if isinstance(fault, Stalled):
                    self.folder.let_go()
                time.sleep(PAUSE)

    @property
    def _size(self) -> int:
        return 0 if self._incoming is None else self._incoming.bytes

    def _failed(self, fault: Exception | str) -> FetchFailed:
        is_there = not self.folder.is_at_home and not isinstance(fault, FolderGone)
        kept = self.folder.kept(self._target) if is_there else None
        self._conclude(kept)
        if isinstance(fault, FolderGone):
            return fault
        if kept is None:
            return FetchFailed(
                f"results could not be copied to {self._target}",
                place=self.folder.cluster.path,
                cause=str(fault),
                cure="They are where they were written",
            )
        return FetchFailed(
            f"results could not be brought home{kept.staying}",
            place=self.folder.cluster.path,
            cause=str(fault),
            cure=kept.cure,
        )

    # --- one round ----------------------------------------------------------------------------

    def _fetch(self, moves: Sequence[FileMove]) -> tuple[Selection, dict[str, str]]:
        """Fetch what is new; return the selection, and which files failed and why."""
        found = self.folder.list(self.given_up)
        chosen = select(found, self.folder.sealed, moves, self.placement.holds)
        failed = {one.path: one.entry[4] for one in chosen.unread}
        todo = [one for one in chosen.files if self._is_new(one)]
        if todo:
            failed |= self._receive(todo)
        for one in filter(self._is_new, chosen.folders):
            failed |= self._tried(one, self._make_folder)
        for one in filter(self._is_new, chosen.links):
            failed |= self._tried(one, self._link)
        return chosen, failed

    @property
    def _owner(self) -> DeployedCluster:
        return self.folder.owner

    def _is_new(self, one: ArrivingFile) -> bool:
        return self._home.get((one.path, one.target)) != one.entry

    def _tried(self, one: ArrivingFile, put: Callable[[ArrivingFile], object]) -> dict[str, str]:
        """Put something in its place; return why that failed, or None."""
        try:
            put(one)
        except OSError as fault:
            return {one.path: str(fault)}
        self._home[one.path, one.target] = one.entry
        return {}

    def _receive(self, todo: Sequence[ArrivingFile]) -> dict[str, str]:
        """Receive files and put each complete one in its place; return those that failed."""
        incoming = self._prepare()
        fitting, failed = self._fitting(todo, incoming)
        if not fitting:
            return failed
        try:
            self.folder.send(incoming.ask_for(fitting), incoming, self.given_up)
        finally:
            incoming.stop()
            failed |= incoming.faults
            whole, last = incoming.take_whole(), {one.path: one for one in fitting}
            for one in fitting:
                if part := whole.get(one.path, ""):
                    is_last = one is last[one.path]
                    failed |= self._tried(one, partial(self._land, part, is_last))
        return failed

    def _land(self, part: str, is_last: bool, one: ArrivingFile) -> None:
        """Put a file in one of its places, and keep a copy for the others."""
        mine = part if is_last else _copied(part)
        if not self._comes_as_it_is(one):
            os.chmod(mine, os.stat(mine).st_mode & 0o666)
        harmless = self._judged(one, self.instructions.place, mine)
        self._landed(one, self.placement.put(
            mine, one.target, self._owner, harmless=harmless, is_output=one.is_output
        ))  # fmt: skip

    def _make_folder(self, one: ArrivingFile) -> None:
        place = self._judged(one, self.instructions.folder)
        self.placement.make_folder(place, self._owner)

    def _link(self, one: ArrivingFile) -> None:
        harmless = self._judged(one, self.instructions.link, one.leads_to)
        self._prepare()
        self._landed(one, self.placement.link(
            one.leads_to, one.target, self._owner,
            room=self._room, harmless=harmless, is_output=one.is_output,
        ))  # fmt: skip

    def _landed(self, one: ArrivingFile, landing: PlacedResult) -> None:
        if landing.kept is None:
            self._aside.pop(one.target, None)
        else:
            self._aside[one.target] = KeptAside(one.target, landing.path, landing.kept)

    def _judged(self, one: ArrivingFile, judge: Callable[..., str], *words: str) -> str:
        """Return where something is put."""
        if self._comes_as_it_is(one):
            return one.target
        return judge(one.target, one.path, self._owner, *words)

    def _comes_as_it_is(self, one: ArrivingFile) -> bool:
        """Tell whether nobody judges a file; what a cluster works on in place is there already."""
        return one.is_named or self.folder.is_at_home

    def _fitting(
        self, todo: Sequence[ArrivingFile], incoming: IncomingFiles
    ) -> tuple[list[ArrivingFile], dict[str, str]]:
        """Return for which files there is room, the small ones first, and why not for the others.

        A file that comes to several places has a copy in each.
        """
        free = shutil.disk_usage(self._room).free
        needed = dict[str, int]()
        for one in todo:
            needed[one.path] = needed.get(one.path, 0) + taken(one.entry)
        failed = dict[str, str]()
        for path, size in sorted(needed.items(), key=lambda item: item[1]):
            missing = max(size - incoming.size_of([path]), 0)
            if missing > free:
                failed[path] = f"it takes {missing:,} bytes, and there is room for {free:,}"
            else:
                free -= missing
        return [one for one in todo if one.path not in failed], failed

    def _prepare(self) -> IncomingFiles:
        """Return where to receive files; raises FetchFailed."""
        if self._incoming is None:
            try:
                self._room = self.make_room(self.placement.nearest(self._target))
            except StagingFailed as fault:
                raise FetchFailed(fault.what, cause=fault.cause, cure=fault.cure) from fault
            self._incoming = IncomingFiles(self._room)
        return self._incoming

    # --- reporting ----------------------------------------------------------------------------

    def _conclude(self, kept: KeptFolder | None = None) -> None:
        """Add what was kept under other names, and all warnings, to the results."""
        held = tuple(one.path for one in self._aside.values())
        self.results = replace(self.results, held=held, warnings=tuple(self._warnings), kept=kept)

    def _came(self, chosen: Selection) -> Results:
        files = [one for one in chosen.files if not self._is_new(one)]
        links = [one for one in chosen.links if not self._is_new(one)]
        return Results(
            self.folder.cluster.path,
            files=len(files) + len(links),
            bytes=sum(one.entry[1] for one in files),
            folders=tuple(dict.fromkeys(one.destination for one in self.moves)),
            others=chosen.others,
        )

    def _warn(self, words: str) -> None:
        words = shown_lines(words)
        if words not in self._warnings:
            self._warnings[words] = None
            _log.warning("%s: %s", self.folder.cluster.path, words)


def warn(words: str) -> None:
    """Warn the user while the run goes on."""
    _log.warning("%s", shown_lines(words))


def kept_shown(kept: Collection[KeptAside], home: str, *, is_first: bool) -> str:
    """Return what was kept under other names and why, and what accepts it.

    Where a run `is_first` to write down what it brings, results of earlier versions count as the
    user's. Once accepted they would still do, so what mends that is another run that replaces them.
    """
    yours = next((one for one in kept if one.why is WhyKept.YOURS), None)
    hint = list[str]()
    if is_first and yours is not None:
        path = shlex.quote(shown(os.path.relpath(yours.meant_for, home), LONGEST_CELL))
        hint = [
            f"    {home} had no list of earlier results ({RECORD}), so what a former version "
            "brought, or what is in a copy of a folder, counts as yours. If these are such "
            f"results, run once more with --replace, such as --replace {path}; from then on runs "
            "replace them"
        ]
    return "\n".join(
        (
            "results were kept under other names, for nothing that a cluster made takes the place "
            "of a file of yours, or is loaded or run:",
            *_kept_lines(kept, home),
            *hint,
            f"look at the differences and accept what you want: gcm-deploy accept "
            f"{shlex.quote(home)}",
        )
    )


def _kept_lines(kept: Collection[KeptAside], home: str) -> Iterator[str]:
    """Yield a line for each reason; first in it is what would have replaced something."""

    def rank(one: KeptAside) -> tuple[bool, str]:
        return not os.path.lexists(one.meant_for), one.meant_for

    for why in WhyKept:
        these = sorted((one for one in kept if one.why is why), key=rank)
        names = [_now(one, home) for one in these[:MOST_TOLD]]
        names += [f"and {len(these) - len(names):,} more"] if len(these) > len(names) else []
        if names:
            is_yours = why is WhyKept.YOURS
            source = shown(os.path.relpath(these[0].meant_for, home), LONGEST_CELL)
            attribute = ' replace="yes"' if is_yours else ""
            option = f"--replace {shlex.quote(source)}, or " if is_yours else ""
            yield (
                f"    {why}: {', '.join(names)}; it would come under its own name with {option}"
                f'in a descriptor <file-transfer direction="out" source="{source}"{attribute}/>'
            )


def _now(one: KeptAside, home: str) -> str:
    """Return the path that a result was meant for, and the name that it has."""
    above, name = os.path.split(one.path)
    is_beside = above == os.path.dirname(one.meant_for)
    now = name if is_beside else os.path.relpath(one.path, home)
    path = os.path.relpath(one.meant_for, home)
    return f"{shown(path, LONGEST_CELL)} (now {shown(now, LONGEST_CELL)})"


def _listed(failed: Mapping[str, str]) -> str:
    """Return why files failed, one line for each of the first ones."""
    lines = [
        f"{shown(path, LONGEST_CELL)}: {shown(why, LONGEST_CELL)}"
        for path, why in itertools.islice(failed.items(), MOST_TOLD)
    ]
    more = len(failed) - len(lines)
    return "\n".join([*lines, f"and {more:,} more"] if more else lines)


def _copied(part: str) -> str:
    """Return a copy of a file beside it."""
    copy = f"{part}.copy"
    with open(part, "rb") as source:
        copy_file(source.fileno(), os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    return copy
