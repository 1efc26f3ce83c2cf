"""Finds the Python classes that documents name; the only ADL module that imports user code."""

from __future__ import annotations

import filecmp
import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import PathFinder
from types import ModuleType

from gcm.suggestion import did_you_mean
from gcm.tracebacks import users_traceback

LoadClass = Callable[[str], object]
"""Returns the object of a dotted name, or raises ClassFault."""


class ClassFault(Exception):
    """Why a dotted name leads to no object; `detail` is the user's own traceback, if any."""

    def __init__(self, code: str, message: str, hint: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.detail = detail


class ImportingLoader:
    """Imports `package.module.Class` or `package.module:Class`, nested classes included.

    The folders are searched first, and are on the search path only during an import.
    """

    def __init__(self, folders: Sequence[str | os.PathLike[str]] = ()) -> None:
        self._folders = [os.path.abspath(folder) for folder in folders]
        self._known: dict[str, object] = {}
        importlib.invalidate_caches()

    def __call__(self, dotted: str) -> object:
        """Return the object of that name.

        Raises:
            ClassFault: the name is malformed, there is no such module or object, or the module
                cannot be imported.
        """
        if dotted not in self._known:
            try:
                self._known[dotted] = self._find(dotted)
            except ClassFault as fault:
                self._known[dotted] = fault
        found = self._known[dotted]
        if isinstance(found, ClassFault):
            raise found
        return found

    def _find(self, dotted: str) -> object:
        module_name, colon, inside = dotted.partition(":")
        modules = module_name.split(".")
        names = inside.split(".") if colon else []
        well_formed = all(part.isidentifier() for part in (*modules, *names))
        if not well_formed or len(modules) + len(names) < 2 or dotted.endswith(".py"):
            raise ClassFault(
                "malformed-class-name",
                f"'{dotted}' does not name a class in a module",
                "write module.Class, without a path and without .py",
            )
        found: object = self._import(modules[0], dotted)
        self._check_origin(found, modules[0])
        for position, part in enumerate(modules[1:], 2):
            inner = getattr(found, part, None)
            if inner is None and isinstance(found, ModuleType) and hasattr(found, "__path__"):
                inner = self._import(".".join(modules[:position]), dotted)
            found = _member(found, part) if inner is None else inner
        for part in names:
            found = _member(found, part)
        return found

    def _import(self, name: str, dotted: str) -> ModuleType:
        try:
            with _search_path(self._folders):
                return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise _failed(name, error) from error
            raise ClassFault(
                "missing-module",
                f"there is no module '{name}' for '{dotted}'",
                self._nearest(name),
            ) from None
        except (Exception, SystemExit) as error:
            raise _failed(name, error) from error

    def _check_origin(self, found: object, name: str) -> None:
        """Refuse a module from another folder, imported before, that hides the one in ours."""
        meant = PathFinder.find_spec(name, self._folders)
        imported = getattr(found, "__file__", None)
        if meant is None or not meant.has_location or meant.origin is None or imported is None:
            return
        if not _same(imported, meant.origin):
            raise ClassFault(
                "hidden-module",
                f"the module '{name}' is {meant.origin} here, but {imported} was imported before",
                "check this file in a run of its own, or rename one of the two modules",
            )

    def _nearest(self, name: str) -> str:
        """Suggest a module from the place where this one was looked for."""
        package, _, last = name.rpartition(".")
        folders = list(sys.modules[package].__path__) if package else self._folders
        near = did_you_mean(last, (one.name for one in pkgutil.iter_modules(folders)))
        return near or "correct the name, or put the module beside the document"


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other) or filecmp.cmp(one, other, shallow=False)
    except OSError:  # one of them has gone: there is nothing to compare
        return True


def _member(owner: object, name: str) -> object:
    try:
        return getattr(owner, name)
    except AttributeError:
        kind = "module" if isinstance(owner, ModuleType) else "class"
        shown = getattr(owner, "__name__", str(owner))
        public = [known for known in dir(owner) if not known.startswith("_")]
        raise ClassFault(
            "missing-class",
            f"the {kind} '{shown}' has no '{name}'",
            did_you_mean(name, public) or f"look for its name in the {kind}",
        ) from None


def _failed(name: str, error: BaseException) -> ClassFault:
    return ClassFault(
        "import-error",
        f"the module '{name}' cannot be imported: {type(error).__name__}: {error}",
        "fix the module; its traceback is in the detail",
        users_traceback(error),
    )


@contextmanager
def _search_path(folders: Sequence[str]) -> Iterator[None]:
    sys.path[:0] = folders
    try:
        yield
    finally:
        for folder in folders:
            if folder in sys.path:
                sys.path.remove(folder)
