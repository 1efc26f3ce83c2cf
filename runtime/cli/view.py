"""`gcm-deploy view`: shows a recorded run, by the folds that show one that is going on."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from enum import StrEnum

from gcm.cli.common_options import Option
from gcm.cli.output import Paint, columns_of
from runtime.cli.errors import UsageError
from runtime.cli.line.options import Format, deploy_command
from runtime.cli.run import complain
from runtime.cli.screens.plain import PlainScreen
from runtime.cli.screens.printer import Screen
from runtime.cli.streams import write
from runtime.views.account import RunAccount
from runtime.views.fact_lines import UnreadableFacts, read_facts
from runtime.views.facts import Fact, RunPlanned
from runtime.views.picture import HIGHEST, picture, plain
from runtime.views.plain_lines import PlainLines
from runtime.views.progress_tree import ProgressTree
from runtime.views.summary import as_json, as_text

_EPILOG = """\
examples:
  gcm-deploy --record run.facts laptop.xml      record a run
  gcm-deploy view run.facts                     what ran where, how it ended
  gcm-deploy view --show figures run.facts      also what was sent, and by which routes
  gcm-deploy view --rank 3 run.facts            the life of rank 3
  gcm-deploy view --show tree run.facts         the state of each cluster and rank
  gcm-deploy view --show lines run.facts        what was printed, with the ranks of each line
  gcm-deploy view --format json run.facts       the summary for programs
  gcm-deploy view --report run.html run.facts   a page about the run"""


class Shown(StrEnum):
    """What is shown of a recorded run."""

    SUMMARY = "summary"
    FIGURES = "figures"
    TREE = "tree"
    LINES = "lines"


@deploy_command(
    Option("file", metavar="FILE", help="what gcm-deploy --record FILE has written"),
    Option("--show", choices=[str(one) for one in Shown], default=Shown.SUMMARY,
           help="the summary, with the errors of the run; the same with all figures; the tree as"
                " it was last; or all lines"),
    Option("--rank", metavar="RANK", default="",
           help="the life of one rank: when it started, waited, wrote and ended; its number, as"
                " 3.1 that of a replica"),
    Option("--format", choices=[str(one) for one in Format], default=Format.TEXT,
           help="the summary for people or for programs"),
    Option("--report", metavar="FILE", default="",
           help="write a page about the run for a browser, as gcm-deploy --report does"),
    Option("--trace", metavar="FILE", default="",
           help="write what gcm-deploy --trace does, if that was given with --record"),
    epilog=_EPILOG,
)  # fmt: skip
def view(found: argparse.Namespace) -> int:
    """Show a recorded run; return the exit code.

    Raises:
        UsageError: the file is no record of a run, or one file is to be written twice.
    """
    if found.report and os.path.realpath(found.report) == os.path.realpath(found.trace):
        raise UsageError(f"--report and --trace would both write {found.report}: name two files")
    if found.report or found.trace:
        return _written(found.file, found.report, found.trace)
    if found.rank:
        return _tell_rank(found.file, found.rank)
    account, tree, last = RunAccount(), ProgressTree(), 0.0
    with ExitStack() as stack:
        screen = None
        for fact in stack.enter_context(recorded(found.file)):
            account.take(fact)
            tree.take(fact)
            last = fact.time
            if found.show == Shown.LINES and isinstance(fact.record, RunPlanned):
                screen = stack.enter_context(closing(_screen(fact.record)))
            if screen is not None:
                screen.show([fact])
    if not account.has_ended:
        complain(f"{found.file}: the record has no end: the run was killed, or goes on")
    if found.format == Format.JSON:
        write(as_json(account.summary()))
    elif found.show == Shown.TREE:
        lines = picture(tree, last, width=columns_of(sys.stdout) or 100, height=HIGHEST)
        write("".join(f"{plain(line)}\n" for line in lines))
    elif found.show in (Shown.SUMMARY, Shown.FIGURES):
        summary = account.summary()
        for message in summary.errors:
            complain(message)
        is_whole = found.show == Shown.FIGURES
        paint, width = Paint.on(sys.stdout), columns_of(sys.stdout)
        write(as_text(summary, paint, width, is_whole=is_whole))
    return 0


def _tell_rank(file: str, text: str) -> int:
    """Show the life of a rank.

    Raises:
        UsageError: there is no such rank.
    """
    from runtime.views.rank_story import RankStory, UnknownRank, find_rank

    story = None
    with recorded(file) as facts:
        for fact in facts:
            if isinstance(fact.record, RunPlanned):
                try:
                    story = RankStory(find_rank(fact.record, text))
                except UnknownRank as fault:
                    raise UsageError(f"{file}: {fault}") from fault
            if story is not None:
                story.take(fact)
    if story is None:
        raise UsageError(f"{file}: its run was never planned, so it has no ranks")
    write("".join(f"{line}\n" for line in story.lines()))
    return 0


def _written(file: str, report: str, trace: str) -> int:
    """Write a report or a trace, or both, of a recorded run."""
    from runtime.cli.screens.recording import written_where_possible
    from runtime.cli.screens.report import report_file, trace_file  # not for what is shown here

    screens: list[Screen] = [report_file(report)] if report else []
    screens += [trace_file(trace)] if trace else []
    with recorded(file) as facts:
        for fact in facts:
            for one in screens:
                one.show([fact])
    with written_where_possible(report or trace):
        for one in screens:
            one.close()
    return 0


@deploy_command(
    Option("first", metavar="FIRST", help="what gcm-deploy --record FILE has written"),
    Option("second", metavar="SECOND", help="the same of another run"),
    epilog="""\
examples:
  gcm-deploy compare before.facts after.facts   what has become faster or slower, and where""",
)  # fmt: skip
def compare(found: argparse.Namespace) -> int:
    """Show in which figures two recorded runs differ; return the exit code.

    Raises:
        UsageError: a file is no record of a run.
    """
    from runtime.views.comparison import RunFigures, comparison

    runs = []
    for file in (found.first, found.second):
        figures = RunFigures()
        with recorded(file) as facts:
            for fact in facts:
                figures.take(fact)
        runs.append(figures)
    for line in comparison(*runs, width=columns_of(sys.stdout)):
        write(line)
    return 0


@contextmanager
def recorded(file: str) -> Iterator[Iterator[Fact]]:
    """Yield the facts of a record, one by one: it may be larger than the memory."""
    try:
        with open(file, "rb") as stream:
            yield read_facts(stream, file)
    except UnreadableFacts as error:
        raise UsageError(error.what, place=file, cure=error.cure) from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"'{file}' cannot be read: {error.strerror}") from error


def _screen(planned: RunPlanned) -> PlainScreen:
    """Return what prints all lines, as the run did with --verbose and --tag-output."""
    return PlainScreen(
        sys.stdout.buffer, sys.stderr.buffer,
        news=PlainLines(), tags=True, names=planned.names(), ends_lines=True,
    )  # fmt: skip
