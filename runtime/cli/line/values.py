"""How the values of options are read: each reader raises ValueError with what is wrong with a text.

Heavy modules are imported when they are used, so that `gcm-deploy --help` need not load them.
"""

from __future__ import annotations

import math
import os
import re
from typing import TYPE_CHECKING

from runtime.web_address import is_web_address

if TYPE_CHECKING:
    from runtime.deployment.machine_argument import Emulation, HostArgument

_WAIT = re.compile(r"\s*[0-9]+(\.[0-9]+)?\s*(s|min|h)?\s*")


def ranks(text: str) -> Emulation:
    """Return one cluster with a number of ranks."""
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"'{text}' is not a number of ranks")
    return shape(text)


def shape(text: str) -> Emulation:
    """Return the clusters of `SITESxCLUSTERSxRANKS`."""
    from runtime.deployment.machine_argument import parse_emulation

    return parse_emulation(text)


def plans(text: str) -> str:
    """Return rules that choose plans, which are right."""
    from runtime.collectives.rules import read_rules

    return " ".join(map(str, read_rules(text)))


def result(text: str) -> str:
    """Return a pattern of results, which is right and stays in the program folder."""
    from runtime.deployment.patterns import picking

    if text.startswith(("/", "~")) or ".." in text.split("/") or picking(text) is None:
        raise ValueError(f"'{text}' is no path or pattern in the program folder")
    return text


def line(text: str) -> str:
    """Return the text of `DELAY,RATE`, which is right."""
    from runtime.deployment.machine_argument import parse_wan

    parse_wan(text)
    return text


def hosts(text: str) -> tuple[HostArgument, ...]:
    """Return the hosts of a list."""
    from runtime.deployment.machine_argument import parse_hosts

    return parse_hosts(text)


def flavour(text: str) -> str:
    """Return the name of a kind of MPI, which is right."""
    from runtime.deployment.machine_argument import check_flavour

    return check_flavour(text)


def hosts_in(file: str) -> tuple[HostArgument, ...]:
    """Return the hosts in a file of `mpiexec` or `mpirun`: a line for each, with its ranks."""
    lines = [line.partition("#")[0].split() for line in _lines(file, "the file of hosts")]
    words = []
    for host, *settings in filter(None, lines):
        slots = [one.partition("=")[2] for one in settings if one.startswith("slots=")]
        words.append(f"{host}:{slots[0]}" if slots else host)
    if not words:
        raise ValueError(f"the file of hosts '{file}' names none")
    return hosts(",".join(words))


def variable(text: str) -> str:
    """Return `NAME` or `NAME=VALUE`, where NAME may be a pattern without a value."""
    from runtime.deployment.environment import is_name  # not for `--help`

    name, equals, _ = text.partition("=")
    if not is_name(name, or_pattern=not equals):
        raise ValueError(f"'{text}' is neither NAME nor NAME=VALUE")
    return text


def document(text: str) -> str:
    """Return the name of an ADL document."""
    stem, ending = os.path.splitext(os.path.basename(text))
    if ending != ".fractal" or not stem.isprintable():
        raise ValueError(f"'{text}' is not a file whose name ends in .fractal")
    return text


def seconds_or_none(text: str) -> float:
    """Return a number of seconds, or 0 for never."""
    return 0.0 if text.strip("0.") == "" and text.count("0") else seconds(text)


def seconds(text: str) -> float:
    """Return a number of seconds above 0, or those of a duration as descriptors have it.

    Raises ValueError for anything else.
    """
    try:
        number = float(text)
    except ValueError:
        number = _duration(text)
    if not 0 < number < math.inf:
        raise ValueError(
            f"'{text}' is not a number of seconds above 0, nor a time such as 90s, 5min or 1h"
        )
    return number


def _duration(text: str) -> float:
    from gcm.documents import is_duration, seconds_of

    return seconds_of(text) if is_duration(text) else 0.0


def listed(file: str) -> tuple[str, ...]:
    """Return the files that a file lists; blank lines and those with # in front are left out."""
    lines = [line.strip() for line in _lines(file, "the list of files")]
    found = tuple(one for one in lines if one and not one.startswith("#"))
    for one in found:
        if not is_web_address(one) and not os.path.exists(one):
            raise ValueError(f"'{file}' lists '{one}', which does not exist")
    return found


def wait(text: str) -> str:
    """Return the text of a duration, as a descriptor has it."""
    if not _WAIT.fullmatch(text):
        raise ValueError(f"'{text}' is not a time: a number of seconds, or such as 90s, 5min or 1h")
    return text


def _lines(file: str, what: str) -> list[str]:
    try:
        with open(file, encoding="utf-8") as stream:
            return list(stream)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(f"{what} '{file}' cannot be read: {why}") from error
