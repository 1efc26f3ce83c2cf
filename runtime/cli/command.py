"""The `gcm-deploy` command: reads the command line, then plans, shows or runs."""

from __future__ import annotations

import gc
import os
import resource
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from runtime.allocations import present_job
from runtime.cli.errors import UsageError
from runtime.cli.guard import guarded
from runtime.cli.line.options import GCM_DEPLOY, HERE, Options, read_options
from runtime.exit_codes import FAULTS

if TYPE_CHECKING:
    from runtime.deployment import Deployment, DeploymentPlan

_OF_A_RANK = 15_000_000
"""The bytes of memory that a rank has for itself before its program has any data."""


LEAST_FILES = 64
"""How many files a launcher and its front-ends have open before ranks have connections."""


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run `gcm-deploy`, as `runtime.cli.main` describes.

    Raises:
        KeyboardInterrupt: it was interrupted.
    """
    words = sys.argv[1:] if arguments is None else arguments
    return guarded("gcm-deploy", lambda: _run(words))


def _run(words: Sequence[str]) -> int:
    if GCM_DEPLOY.command(words) is not None:
        return GCM_DEPLOY.run_command(words)
    first = words[0] if words else ""
    if first and not first.startswith("-"):
        if not os.path.isfile(first):
            from runtime.cli.line.mistaken_words import refuse_command_word

            refuse_command_word(words)
        elif not first.endswith(".xml") and present_job(os.environ) is None:
            from runtime.cli.line.mistaken_words import refuse_program

            refuse_program(words)
    return dispatch(read_options(words))


def dispatch(options: Options) -> int:
    """Do what a command line that names a program or a descriptor asks for."""
    # Heavy modules are imported when they are used, so that `gcm-deploy --help` need not load them.
    from runtime.cli.load import load_deployment

    if options.write:
        from runtime.cli.write import write_descriptor

        return write_descriptor(options)
    deployment = load_deployment(options)
    if deployment is None:
        return FAULTS
    if options.draw:
        from runtime.cli.show import draw_machine

        return draw_machine(deployment, options.draw, options.colours or "auto")
    if options.show_variables:
        from runtime.cli.show import show_variables

        return show_variables(deployment.variables, options.format)
    if deployment.peers is not None and options.detach:
        raise UsageError(
            "a run on the peers of a lab cannot be detached",
            cure="Start it with: setsid nohup gcm-deploy ... > log 2>&1 < /dev/null &",
        )
    if deployment.peers is not None and not options.export_adl:
        from runtime.cli.on_peers import run_on_peers

        return run_on_peers(deployment, options)
    from runtime.cli.programs import look_at_programs
    from runtime.deployment import make_plan

    programs = {} if options.export_adl else look_at_programs(deployment, options)
    if programs is None:
        return FAULTS
    if options.detach not in ("", HERE) and not options.dry_run:
        from runtime.cli.moving import move

        return move(deployment, options, programs)
    plan = make_plan(deployment, programs)
    if options.dry_run:
        from runtime.cli.show import show_plan

        return show_plan(plan, options.format)
    if options.export_adl:
        from runtime.cli.show import export_machine

        return export_machine(plan, options.export_adl)
    _check_memory(deployment)
    _check_files()
    if options.detach:
        from runtime.cli.detached import detach

        return detach(plan, options, run_here)
    return run_here(plan, options)


def _check_files() -> None:
    """Raise `UsageError` if this process may open too few files to start anything."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= most < LEAST_FILES:
        raise UsageError(
            f"a process may have {most} open files here, and a run needs {LEAST_FILES} at least",
            cure="Allow more: ulimit -n 1024",
        )


def _check_memory(deployment: Deployment) -> None:
    """Raise `UsageError` if this machine cannot even hold the empty ranks that it shall emulate."""
    ranks = sum(
        node.ranks
        for cluster in deployment.clusters()
        for node in cluster.nodes
        if cluster.is_local and node.host == "localhost"
    )
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if ranks * _OF_A_RANK > memory:
        raise UsageError(
            f"{ranks:,} ranks do not fit into the {memory / 2**30:.1f} GiB of this machine",
            cure=f"It can hold {memory // _OF_A_RANK:,} at most, without any data: emulate fewer",
        )


def run_here(plan: DeploymentPlan, options: Options) -> int:
    """Run a plan with the launcher in this process; return the exit code."""
    if not any(cluster.is_local for cluster in plan.deployment.clusters()):
        from runtime.cli.run import run_plan

        gc.enable()
        return run_plan(plan, options)
    from runtime.launchers.errors import LaunchError
    from runtime.processes.launcher.warm_start import WarmStart

    gc.freeze()  # loaded modules stay, and forked processes share them
    with WarmStart() as warm:  # before there are any threads
        with suppress(LaunchError):  # then nothing can be started, and the run reports it
            warm.load(plan)
        from runtime.cli.run import run_plan  # while that loads

        gc.enable()
        return run_plan(plan, options, warm)
