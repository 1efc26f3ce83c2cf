"""How the guard gets to a host that has nothing but Python: as source, through its own pipe."""

from __future__ import annotations

import secrets
import sys
from functools import cache
from importlib import resources

PARTS = ("wire", "family", "spawning", "guard")

# The first thing run at the far end: reads exactly what it is sent, and runs it. It stays clear of
# every character that means something to some login shell, even between single quotes.
_LOADER = (
    'import os,sys;exec("b=bytes()"+chr(10)+"while len(b)<{size}:'
    'b+=os.read(0,{size}-len(b))or sys.exit(71)");exec(b)'
)


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
    """Return the text of a module of this package, also when the package is inside an archive."""
    return resources.files(__package__).joinpath(f"{part}.py").read_text(encoding="utf-8")


def loader() -> str:
    """Return the program for `python -c` that reads the guard from its stdin and runs it."""
    return _LOADER.format(size=len(source()))


def new_marker() -> tuple[str, str]:
    """Return two halves of a word nobody else says; the guard says it whole before its messages."""
    return f"gcm-{secrets.token_hex(8)}", secrets.token_hex(8)


def local_argv(marker: tuple[str, str], python: str | None = None) -> list[str]:
    """Return the command that starts a guard on this machine."""
    return [python or sys.executable, "-I", "-S", "-c", loader(), "gcm-guard", *marker]
