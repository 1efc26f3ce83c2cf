"""`gcm-peer advise`: how many replicas a run should have, as a table with a plot in it."""

from __future__ import annotations

import argparse
import json
from math import log10
from typing import TYPE_CHECKING, Any

from gcm.cli.command_table import command
from gcm.cli.common_options import Option, number_of
from runtime.exit_codes import WRONG_USAGE
from runtime.peers.advice import (
    Advice,
    Prospect,
    RunRisk,
    advise,
    chance,
    duration,
    is_chance,
    parallel_time,
    rate,
    rate_for,
    shown_chance,
    shown_time,
)

if TYPE_CHECKING:
    from rich.console import Console

_MORE = """\
Tells how likely a run fails with 1, 2, 3... replicas of each process, which number is best, and
the least one that reaches a target. A run fails when all replicas of any process do."""

_EXAMPLES = """\
examples:
  {command} --failure-rate 1/30d --processes 128 --time 2h
  {command} --failure-rate 5% --processes 128 --time 2h --slowdown 0 --target 0.1%
  {command} --failure-rate 1/30d --processes 16 --time 5d --parallel 95%
"""

_EXIT_CODE = 0
_BAR = 18
_LEAST_SHOWN, _MOST_SHOWN = 6, 16


def print_advice(found: Advice, risk: RunRisk, target: float, console: Console) -> None:
    """Print the table, a bar for each chance on a logarithmic scale, and what follows from it."""
    from rich import box
    from rich.table import Table

    shown = _shown(found)
    low = min(-1, *(_magnitude(one.run_fails) for one in shown))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    scale = f"{shown_chance(10.0**low)}{'100 %':>{_BAR - len(shown_chance(10.0**low))}}"
    for name in ("replicas", "places", "time", "host fails", "run fails"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(scale, no_wrap=True)
    table.add_column("", no_wrap=True)
    for one in shown:
        marks = [
            *(["best"] if one == found.best else []),
            *([f"≤ {shown_chance(target)}"] if one == found.least else []),
        ]
        table.add_row(
            str(one.replicas),
            f"{risk.processes * one.replicas:,}",
            shown_time(one.time),
            shown_chance(one.host_fails),
            shown_chance(one.run_fails),
            _bar(one.run_fails, low),
            ", ".join(marks),
            style="bold green" if one == found.best else None,
        )
    console.print(table)
    console.print()
    console.print(_sentence(found, target))


def _sentence(found: Advice, target: float) -> str:
    best, least = found.best, found.least
    if least is None:
        return (
            f"No number of replicas brings the chance to fail down to {shown_chance(target)}: "
            f"it is {shown_chance(best.run_fails)} at best, with {best.replicas}. "
            "Make the run shorter, or let it write checkpoints"
        )
    words = f"gcm-peer run -r {least.replicas} is enough for {shown_chance(target)}"
    if best.replicas > least.replicas:
        words += f"; more than {best.replicas} make it worse or no better"
    return words


def _shown(found: Advice) -> list[Prospect]:
    """Return the rows: all up to the best one, or a little beyond what is enough."""
    enough = found.least or found.best
    last = max(_LEAST_SHOWN, min(_MOST_SHOWN, enough.replicas + 2), found.best.replicas)
    return list(found.prospects[:last])


def _magnitude(value: float) -> int:
    return -12 if value < 1e-12 else int(log10(value) // 1)


def _bar(value: float, low: int) -> str:
    share = 1 - (log10(value) if value > 0 else low) / low
    return "█" * max(0, round(share * _BAR)) or "▏"


def _plain(found: Advice, target: float) -> dict[str, Any]:
    return {
        "target": target,
        "best": found.best.replicas,
        "least": found.least.replicas if found.least else None,
        "prospects": [
            {
                "replicas": one.replicas,
                "seconds": one.time,
                "host_fails": one.host_fails,
                "run_fails": one.run_fails,
            }
            for one in found.prospects
        ],
    }


def _failures(written: str) -> tuple[str, float]:
    if is_chance(written):
        return "chance", chance(written)
    return "rate", rate(written)


def _share(written: str) -> float:
    return 1.0 if written in ("1", "100%") else chance(written)


def _above_0(written: str) -> float:
    number = _from_0(written)
    if not number:
        raise ValueError(f"'{written}' is not above 0")
    return number


def _from_0(written: str) -> float:
    try:
        number = float(written)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1000:
        raise ValueError(f"'{written}' is not a number from 0 on")
    return number


@command(
    Option("--failure-rate", required=True, metavar="RATE", read=_failures,
           help="how often a host fails, as 1/30d or 0.01/h; or how likely within --time, as 5%%"),
    Option("-n", "--processes", required=True, metavar="N", read=number_of("processes"),
           help="ranks of the run"),
    Option("--time", required=True, metavar="TIME", read=duration,
           help="how long the run takes without replicas, as 90min or 2h"),
    Option("--parallel", default=None, metavar="SHARE", read=_share,
           help="how much of it can be computed in parallel, as 95%%: --time is then that of one "
           "processor, and the run takes what Amdahl's law says"),
    Option("--target", default=0.01, metavar="CHANCE", read=chance,
           help="how likely the run may fail (default: 1%%)"),
    Option("--shape", default=1.0, metavar="δ", read=_above_0,
           help="shape of the Weibull distribution: below 1 where hosts that have been up for long "
           "fail less (default: 1)"),
    Option("--slowdown", default=1.0, metavar="S", read=_from_0,
           help="by how much of --time each further replica prolongs the run: 1 where replicas "
           "share the hosts there were, 0 where each has its own (default: 1)"),
    Option("--json", action="store_true", help="print all figures as JSON"),
    more=_MORE, epilog=_EXAMPLES, wrong_usage=WRONG_USAGE,
)  # fmt: skip
def advise_command(options: argparse.Namespace) -> int:
    """Print what is advised; return the exit code: 0, or 1 if no number reaches the target."""
    kind, value = options.failure_rate
    time = options.time
    if options.parallel is not None:
        time = parallel_time(time, options.parallel, options.processes)
    per_second = rate_for(value, time, options.shape) if kind == "chance" else value
    risk = RunRisk(options.processes, time, per_second, options.shape, options.slowdown)
    found = advise(risk, options.target)
    if options.json:
        print(json.dumps(_plain(found, options.target), indent=1))
    else:
        from rich.console import Console

        console = Console(highlight=False, soft_wrap=True)
        if console.is_terminal:
            print_advice(found, risk, options.target, console)
        else:  # a file keeps no blanks at the ends of lines
            with console.capture() as shown:
                print_advice(found, risk, options.target, console)
            print(*(line.rstrip() for line in shown.get().splitlines()), sep="\n")
    return _EXIT_CODE if found.least is not None else 1
