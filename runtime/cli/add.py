"""`gcm-deploy add`: a component for an assembly that runs, from another terminal or program."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from gcm.cli.common_options import Option
from runtime.cli.errors import UsageError
from runtime.cli.inspection import ordered
from runtime.cli.line.options import deploy_command


@deploy_command(
    Option("run", metavar="RUN",
           help="the process number of gcm-deploy, or the name of a detached run"),
    Option("file", metavar="FILE", help="an ADL document"),
    Option("--node", metavar="SITE/CLUSTER/NODE", required=True,
           help="where the component lives, with all that is inside"),
    Option("--bind", metavar="CLIENT=SERVER", action="append", default=[],
           help="bind COMPONENT.INTERFACE to another one before it starts; repeatable"),
    more="It lives beside the assembly, and its bindings are references. If it cannot be made, "
    "bound or started, nothing of it is left and the run goes on.",
    epilog="""\
examples:
  gcm-deploy add 4711 spy.fractal --node lab/rack/blade1 --bind spy.work=app/worker1.work""",
)  # fmt: skip
def add(found: argparse.Namespace) -> int:
    """Add a component beside an assembly that runs, on a node; return the exit code.

    Raises:
        UsageError: there is no such run, or it cannot add the component.
    """
    path = add_component(found.run, found.file, node=found.node, bind=found.bind)
    print(f"added {path} on {found.node}")
    return 0


def add_component(run: int | str, file: str, *, node: str, bind: Iterable[str] = ()) -> str:
    """Add the component of an ADL document beside the assembly of a run; return its path.

    `run` is the process of a `gcm-deploy` of this user, or the name of a detached run. The
    component lives on `node`, and starts once each binding of `bind` is made, such as
    `"spy.work=app/worker1.work"`.

    Raises:
        UsageError: there is no such run, or it cannot add the component, with the reason.

    >>> runtime.add_component(4711, "spy.fractal", node="lab/rack/blade1")    # doctest: +SKIP
    '/spy'
    """
    pairs = []
    for one in bind:
        client, sign, server = one.partition("=")
        if not (client and sign and server):
            raise UsageError(
                f"'{one}' is no binding",
                cure="Write CLIENT=SERVER: --bind spy.work=app/worker1.work",
            )
        pairs.append((client, server))
    order = {"file": str(Path(file).resolve()), "node": node, "bindings": pairs}
    return ordered(_process_of(run), order)


def _process_of(run: int | str) -> int:
    if isinstance(run, int) or run.isdecimal():
        return int(run)
    from runtime.cli.attach import run_named
    from runtime.cli.moving import MovedRun

    found = run_named(run)
    if isinstance(found, MovedRun):
        raise UsageError(
            f"the run {found.name} is on another machine", cure="Log in there, and add it there"
        )
    return found.process
