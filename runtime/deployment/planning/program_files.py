"""Selects what of a program folder is copied to clusters that work in a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum

from gcm.records import dataclass
from runtime.deployment.model import Application, DeployedCluster, Deployment, Direction
from runtime.deployment.planning.closing import home_of
from runtime.deployment.planning.workplace import workplace_of
from runtime.shown_text import LONGEST_CELL, shown

IGNORE_FILE = ".gcmignore"

MB = 1_000_000
FILES_FOR_EACH_MB = 100

BUILT_IN = (
    ".gcm-*",
    ".git",
    ".hg",
    ".svn",
    ".ssh/",
    ".gnupg/",
    "__pycache__/",
    "*.py[cod]",
    "*.otf2/",
    ".venv",
    "venv",
    ".tox/",
    ".nox/",
    ".mypy_cache/",
    ".ruff_cache/",
    ".pytest_cache/",
    ".hypothesis/",
    ".ipynb_checkpoints/",
    "node_modules/",
    ".DS_Store",
)
"""What is never copied of a program folder, unless its ignore file says otherwise (`!venv`)."""


class EntryKind(StrEnum):
    """What an entry of a folder is, links not followed."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    SPECIAL = "special"


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """One entry of a program folder as it was found.

    `path` is relative to the folder. A link leads to a file, a folder, or nothing (`leads_to` is
    empty); `target` is that place relative to the folder, empty where it is outside of it. `size`
    is that of the file, or of the target of a link. `is_kept` means that it is never copied.
    """

    path: str
    kind: EntryKind
    size: int = 0
    target: str = ""
    leads_to: str = ""
    is_readable: bool = True
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class ProgramFiles:
    """What is copied: files with their sizes, folders, and links with their targets.

    `ignored` is what was left out on purpose, `skipped` what cannot be copied and why.
    """

    files: tuple[tuple[str, int], ...] = ()
    folders: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    ignored: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(size for _, size in self.files)

    def exceeds(self, limit: int) -> bool:
        """Return whether this is more than `limit` MB, or more files than go with that."""
        return self.size > limit * MB or len(self.files) > limit * FILES_FOR_EACH_MB

    def largest(self, most: int = 5) -> list[tuple[str, int]]:
        """Return the largest entries of the folder itself, files and folders, the first ones."""
        totals: dict[str, int] = {}
        for path, size in self.files:
            top, slash, _ = path.partition("/")
            totals[top + slash] = totals.get(top + slash, 0) + size
        return sorted(totals.items(), key=lambda one: (-one[1], one[0]))[:most]

    def __str__(self) -> str:
        """Return number and size."""
        files = "1 file" if len(self.files) == 1 else f"{len(self.files):,} files"
        return f"{files}, {readable(self.size)}"


def choose(
    entries: Iterable[FolderEntry],
    is_ignored: Callable[[str], bool],
    secret_in: Callable[[str], str] = lambda _: "",
) -> ProgramFiles:
    """Return what is copied of a folder.

    Links that stay inside travel as links; one that leads to a file elsewhere, or to one that is
    ignored, becomes that file. `is_ignored` gets paths, those of folders with a `/` at the end;
    `secret_in` says which secret a file is, if any.
    """
    files, folders, links = list[tuple[str, int]](), list[str](), list[tuple[str, str]]()
    ignored, skipped = list[str](), list[str]()
    for entry in entries:
        name = f"{entry.path}/" if entry.kind is EntryKind.FOLDER else entry.path
        if entry.is_kept or is_ignored(name):
            ignored.append(name)
        elif why := _why_not(entry) or _why_secret(entry, secret_in):
            skipped.append(f"{shown(entry.path, LONGEST_CELL)} {why}")
        elif entry.kind is EntryKind.FOLDER:
            folders.append(entry.path)
        elif entry.kind is EntryKind.FILE:
            files.append((entry.path, entry.size))
        elif entry.target and not _is_below(entry, is_ignored):
            links.append((entry.path, entry.target))
        elif entry.leads_to == EntryKind.FILE:
            files.append((entry.path, entry.size))
        else:
            path = shown(entry.path, LONGEST_CELL)
            skipped.append(f"{path} is a link to a folder that is not copied")
    return ProgramFiles(tuple(files), tuple(folders), tuple(links), tuple(ignored), tuple(skipped))


def _why_not(entry: FolderEntry) -> str:
    if entry.kind is EntryKind.SPECIAL:
        return "is a pipe, a socket or a device"
    if entry.kind is EntryKind.LINK and entry.leads_to == EntryKind.SPECIAL:
        return "is a link to a pipe, a socket or a device"
    if entry.kind is EntryKind.LINK and not entry.leads_to:
        return "is a link to nothing"
    return "" if entry.is_readable else "cannot be read"


def _why_secret(entry: FolderEntry, secret_in: Callable[[str], str]) -> str:
    is_file = EntryKind.FILE in (entry.kind, entry.leads_to)
    return secret_in(entry.path) if is_file else ""


def _is_below(link: FolderEntry, is_ignored: Callable[[str], bool]) -> bool:
    """Return whether a link leads to something that is ignored, or that is in such a folder."""
    parts = link.target.split("/")
    above = ("/".join(parts[:end]) + "/" for end in range(1, len(parts)))
    last = f"{link.target}/" if link.leads_to == EntryKind.FOLDER else link.target
    return any(map(is_ignored, (*above, last)))


def kept_here(deployment: Deployment) -> Iterator[str]:
    """Yield the files and folders that are never copied, whatever an ignore file says.

    Keys never leave this machine, results that came home are not sent out again, and no copy is
    part of another one.
    """
    yield from (
        one.front_end.folder
        for one in deployment.clusters()
        if one.is_local and one.front_end.folder
    )
    hops = [hop for cluster in deployment.clusters() for hop in cluster.hops]
    hops += [hop for process in deployment.processes for hop in process.hops]
    yield from (path for hop in hops for path in (hop.key, hop.known_hosts) if path)
    for transfer in deployment.transfers:
        if transfer.direction is Direction.OUT:
            yield from dict.fromkeys(
                home_of(one.folder, transfer.destination, cluster)
                for one in deployment.applications
                for cluster in deployment.clusters()
            )


def copies(deployment: Deployment) -> dict[str, list[DeployedCluster]]:
    """Return for each application whose folder is copied the clusters that get a copy."""
    found: dict[str, list[DeployedCluster]] = {}
    for cluster in deployment.clusters():
        if workplace_of(deployment, cluster).is_staged:
            found.setdefault(cluster.application, []).append(cluster)
    return found


def what_to_do(application: Application, files: ProgramFiles) -> str:
    """Return how to make a program folder small enough, given what is in it."""
    limit = max(-(-files.size // MB), -(-len(files.files) // FILES_FOR_EACH_MB))
    return (
        f'{what_to_leave_out(application, files)}, write stage-limit="{limit}", '
        'or stage="no" if all clusters have this folder under the same path'
    )


def what_to_leave_out(application: Application, files: ProgramFiles) -> str:
    """Return what is largest in a program folder, and where to say that it is not copied."""
    largest = ", ".join(f"{shown(path)} {readable(size)}" for path, size in files.largest())
    return (
        f"the largest: {largest}; leave out what the program does not need in "
        f"{application.folder}/{IGNORE_FILE}, as in a .gitignore"
    )


def readable(size: int) -> str:
    """Return a number of bytes as people write it.

    >>> readable(999), readable(1_234_567)
    ('999 bytes', '1.2 MB')
    """
    if size < 1000:
        return f"{size} bytes"
    amount, unit = size / 1000, "KB"
    for larger in ("MB", "GB", "TB"):
        if amount >= 1000:
            amount, unit = amount / 1000, larger
    return f"{amount:.1f} {unit}"
