"""How the guard gets to a host that has nothing but Python: as source, through its own pipe."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.abc import ResourceLoader

PARTS = ("wire", "family", "segments", "spawning", "contents", "guard")

# The first thing run at the far end: reads exactly what it is sent, and runs it. It stays clear of
# every character that means something to some login shell, even between single quotes.
_LOADER = (
    'import os,sys;exec("b=bytes()"+chr(10)+"while len(b)<{size}:'
    'b+=os.read(0,{size}-len(b))or sys.exit(71)");exec(b)'
)

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_HOME = os.path.dirname(os.path.dirname(_FOLDER))
_LOCAL = "import sys;sys.path.insert(0,{home!r});from runtime.launchers import guard;guard.main()"


@cache
def source() -> bytes:
    """Return the program that is the guard: its modules, made importable, and a call."""
    lines = ["import sys", "def module(name, text):", " found = type(sys)(name)"]
    lines += [" found.__path__ = []", " sys.modules[name] = found"]
    lines += [" exec(compile(text, name, 'exec'), found.__dict__)", " return found"]
    lines += ["module('runtime', '')", "launchers = module('runtime.launchers', '')"]
    for part in PARTS:
        name, text = f"{__package__}.{part}", read_source(part)
        lines.append(f"launchers.{part} = module({name!r}, {text!r})")
    lines.append("launchers.guard.main()")
    return "\n".join(lines).encode()


@cache
def read_source(part: str) -> str:
    """Return the text of a module, also when it is inside an archive.

    `part` is the name of one of this package, or the path of another one.
    """
    path = part if part.endswith(".py") else os.path.join(_FOLDER, f"{part}.py")
    # What loaded this module can read its neighbours, and needs no import as `importlib.resources`.
    assert __spec__ is not None
    return cast("ResourceLoader", __spec__.loader).get_data(path).decode()


def loader(size: int = 0) -> str:
    """Return the program for `python -c` that reads the guard from its stdin and runs it.

    `size` is that of the guard's source if it is not the one of this version.
    """
    return _LOADER.format(size=size or len(source()))


def far_argv(python: str, size: int, marker: tuple[str, str]) -> list[str]:
    """Return the command that starts a guard whose source comes through its standard input.

    Its commands are found as if the virtual environment of `python` was activated.
    """
    return [python, "-I", "-S", "-B", "-c", loader(size), "gcm-guard", *marker, python]


def new_marker() -> tuple[str, str]:
    """Return two halves of a word nobody else says; the guard says it whole before its messages."""
    return f"gcm-{os.urandom(8).hex()}", os.urandom(8).hex()


def is_in_folder() -> bool:
    """Tell whether this package is in a folder, from which a Python of this machine can run it."""
    return os.path.isfile(os.path.join(_FOLDER, "guard.py"))


def local_argv(marker: tuple[str, str]) -> list[str]:
    """Return the command that starts a guard on this machine.

    It needs no source if the package is in a folder: what is compiled already starts faster.
    """
    program = _LOCAL.format(home=_HOME) if is_in_folder() else loader()
    return [sys.executable, "-I", "-S", "-B", "-c", program, "gcm-guard", *marker]


def local_input() -> bytes:
    """Return what a guard on this machine has to be sent before anything else."""
    return b"" if is_in_folder() else source()
