"""`gcm-deploy view`: shows a recorded run, by the folds that show one that is going on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from enum import StrEnum

from gcm.cli.common_options import Option
from gcm.cli.output import Paint, columns_of
from runtime.cli.errors import UsageError
from runtime.cli.line.options import Format, deploy_command
from runtime.cli.run import complain
from runtime.cli.screens.plain import PlainScreen
from runtime.cli.streams import write
from runtime.views.account import RunAccount
from runtime.views.fact_lines import UnreadableFacts, read_facts
from runtime.views.facts import Fact, RunPlanned
from runtime.views.picture import picture, plain
from runtime.views.plain_lines import PlainLines
from runtime.views.progress_tree import ProgressTree
from runtime.views.summary import as_json, as_text

_DESCRIPTION = "Show a run that gcm-deploy --record FILE has recorded."

_EPILOG = """\
examples:
  gcm-deploy --record run.facts laptop.xml      record a run
  gcm-deploy view run.facts                     what ran where, how it ended, what was sent
  gcm-deploy view --show tree run.facts         the state of each cluster and rank
  gcm-deploy view --show lines run.facts        what was printed, with the ranks of each line
  gcm-deploy view --format json run.facts       the summary for programs"""


class Shown(StrEnum):
    """What is shown of a recorded run."""

    SUMMARY = "summary"
    TREE = "tree"
    LINES = "lines"


VIEW = deploy_command(
    "gcm-deploy view",
    _DESCRIPTION,
    Option("file", metavar="FILE", help="what gcm-deploy --record FILE has written"),
    Option(
        "--show", choices=[str(one) for one in Shown], default=Shown.SUMMARY,
        help="the summary, with the errors of the run; the tree as it was last; or all lines",
    ),
    Option(
        "--format", choices=[str(one) for one in Format], default=Format.TEXT,
        help="the summary for people or for programs",
    ),
    epilog=_EPILOG,
)  # fmt: skip


def view(words: Sequence[str]) -> int:
    """Show a recorded run; return the exit code.

    Raises:
        UsageError: the file is no record of a run.
    """
    found = VIEW.parser().parse_args(words)
    facts = _recorded(found.file)
    account = RunAccount()
    for fact in facts:
        account.take(fact)
    if not account.has_ended:
        complain(f"{found.file}: the record has no end: the run was killed, or goes on")
    if found.format == Format.JSON:
        write(as_json(account.summary()))
    elif found.show == Shown.LINES:
        _show_lines(facts)
    elif found.show == Shown.TREE:
        write(_tree(facts))
    else:
        summary = account.summary()
        for message in summary.errors:
            complain(message)
        write(as_text(summary, Paint.on(sys.stdout), columns_of(sys.stdout)))
    return 0


def _recorded(file: str) -> list[Fact]:
    try:
        with open(file, "rb") as stream:
            return list(read_facts(stream, file))
    except OSError as error:
        raise UsageError(f"'{file}' cannot be read: {error.strerror}") from error
    except UnreadableFacts as error:
        raise UsageError(error.what, place=file, cure=error.cure) from error


def _show_lines(facts: Sequence[Fact]) -> None:
    names = next((one.record.names() for one in facts if isinstance(one.record, RunPlanned)), None)
    out, err = sys.stdout.buffer, sys.stderr.buffer
    screen = PlainScreen(out, err, news=PlainLines(), tags=True, names=names, ends_lines=True)
    with closing(screen):
        screen.show(facts)


def _tree(facts: Sequence[Fact]) -> str:
    tree = ProgressTree()
    for fact in facts:
        tree.take(fact)
    last = facts[-1].time if facts else 0.0
    width = columns_of(sys.stdout) or 100
    return "".join(f"{plain(line)}\n" for line in picture(tree, last, width=width, height=10_000))
