"""The program that stands in for `ssh` in an emulated grid; pure.

All clusters are on one machine and share its files, so that entering the other cluster's network
is all there is to do. Like ssh, it begins with a fresh environment in the home folder. Between
sites its input and output are as late as the line between them (`slow_pipe.py`).
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.grid.layout import Cluster, Layout

FOLDER = "/dev/shm/.grid"
"""A folder that each cluster has for itself, and that is gone with it."""

SSH = f"{FOLDER}/ssh"
HOSTS = f"{FOLDER}/hosts"

IF_OPEN = f"test -e {SSH} || exit 255"
"""What a program that entered a cluster does first.

The holder removes the file before it sweeps: whoever still sees it was inside before the sweep.
"""

_TEXT = """#!/bin/sh
# Stands in for ssh: [options] [user@]HOST COMMAND...
while :; do
  case "$1" in
    --) shift; break ;;
    -W|-J) echo "ssh: the emulated grid has no hops ($1)" >&2; exit 255 ;;
    -[BbcDEeFIiLlmOopQRSw]) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
host=${1#*@}
shift
[ "$1" = -- ] && shift
case "$host" in
%(cases)s
  *) echo "ssh: there is no host $host in this grid" >&2; exit 255 ;;
esac
cd / || exit 255
exec $line env -i HOME="$HOME" PATH="$PATH" LANG="$LANG" USER="$USER" SHELL=/bin/sh %(enter)s \\
  /bin/sh -c '%(if_open)s; cd "$HOME" && exec /bin/sh -c "$1"' ssh "$*"
"""


def entering(holder: int | str) -> list[str]:
    """Return the command that runs what follows it in the cluster that a process holds."""
    spaces = ("--net", "--uts", "--ipc", "--mount")
    return ["nsenter", f"--target={holder}", *spaces, "--"]


SLOW = [sys.executable, "-S", "-E", str(Path(__file__).with_name("slow_pipe.py"))]


def stand_in(layout: Layout, source: Cluster, holders: Mapping[str, int]) -> str:
    """Return the text of the program in a cluster; hosts are names and addresses of clusters."""
    cases = "\n".join(
        f"  {one.name}|{one.address}) "
        f"holder={holders[one.name]} line={_line(layout, source, one)} ;;"
        for one in layout.clusters
    )
    enter = " ".join(entering('"$holder"'))
    return _TEXT % {"cases": cases, "enter": enter, "if_open": IF_OPEN}


def _line(layout: Layout, source: Cluster, target: Cluster) -> str:
    """Return what stands before a command in another site, as one word of the shell."""
    if source.site == target.site:
        return "''"
    line = layout.line(source.site, target.site)
    return shlex.quote(" ".join([*SLOW, str(line.delay), str(line.rate)]))
