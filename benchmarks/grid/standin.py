"""The program that stands in for `ssh` in an emulated grid; pure.

All clusters are on one machine and share its files, so that entering the other cluster's network
is all there is to do. Like ssh, it begins with a fresh environment in the home folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.grid.layout import Cluster

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
exec env -i HOME="$HOME" PATH="$PATH" LANG="$LANG" USER="$USER" SHELL=/bin/sh %(enter)s \\
  /bin/sh -c '%(if_open)s; cd "$HOME" && exec /bin/sh -c "$1"' ssh "$*"
"""


def entering(holder: int | str) -> list[str]:
    """Return the command that runs what follows it in the cluster that a process holds."""
    spaces = ("--net", "--uts", "--ipc", "--mount")
    return ["nsenter", f"--target={holder}", *spaces, "--"]


def stand_in(clusters: Sequence[Cluster], holders: Mapping[str, int]) -> str:
    """Return the text of the program: hosts are found by the names and addresses of clusters."""
    cases = "\n".join(
        f"  {one.name}|{one.address}) holder={holders[one.name]} ;;" for one in clusters
    )
    enter = " ".join(entering('"$holder"'))
    return _TEXT % {"cases": cases, "enter": enter, "if_open": IF_OPEN}
