"""`gcm-deploy new`: asks four questions and writes a descriptor with comments."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from typing import TextIO

from gcm.cli.common_options import Option
from runtime.cli.errors import UsageError
from runtime.cli.line.document import document_of
from runtime.cli.line.options import deploy_command
from runtime.cli.line.questions import QUESTIONS, Answers, Question
from runtime.cli.load import read_document
from runtime.cli.write import check_folder, save
from runtime.exit_codes import FAULTS

_MORE = """\
In brackets is what an empty answer means. Answers may also be piped in, one on each line, or given
as options."""

_EPILOG = """\
examples:
  gcm-deploy new                          ask everything; the file is called like the program
  gcm-deploy new ring.xml                 the same, into this file
  printf 'ring.py\\nhere\\n2x4\\nall\\n' | gcm-deploy new
  gcm-deploy new --program 'ring.py 20' --where lyon,porto --ranks 4 --results 'out/*.npy'"""


@deploy_command(
    Option("file", nargs="?", metavar="FILE",
           help="what to write; called like the program by default"),
    *(Option(f"--{one.option}", metavar="ANSWER", help=one.meaning) for one in QUESTIONS),
    Option("--overwrite", action="store_true", help="replace the file if it exists"),
    more=_MORE, epilog=_EPILOG,
)  # fmt: skip
def new(found: argparse.Namespace) -> int:
    """Ask, write the descriptor, and say how to run it; return the exit code.

    Raises:
        UsageError: an answer is missing or wrong, and there is no terminal to ask again.
        OutputFailed: the file cannot be written.
    """
    check_folder(found.file or "")  # fails before any question is asked
    dialogue = Dialogue(sys.stdin, sys.stderr)
    first, *others = QUESTIONS
    answers = dialogue.answer(first, found.program, Answers())
    file = found.file or _file_for(answers)
    overwrite = found.overwrite
    if os.path.exists(file) and not overwrite:
        dialogue.confirm_overwrite(file)
        overwrite = True
    for question in others:
        answers = dialogue.answer(question, getattr(found, question.option), answers)
    document = document_of(
        *answers.one_line(), os.path.dirname(os.path.abspath(file)), results=answers.results
    )
    if read_document(document) is None:
        return FAULTS
    save(document.text, file, overwrite=overwrite)
    quoted = shlex.quote(file)
    dialogue.say(f"wrote {file}")
    dialogue.say(f"gcm-deploy --dry-run {quoted} shows the plan, gcm-deploy {quoted} runs it")
    return 0


def _file_for(answers: Answers) -> str:
    program = answers.one_line()[0].program
    return f"{os.path.splitext(os.path.basename(program))[0]}.xml"


class Dialogue:
    """Asks on one stream and reads answers from another, which need not be a terminal."""

    def __init__(self, source: TextIO, out: TextIO) -> None:
        self._source = source
        self._out = out

    def answer(self, question: Question, given: str | None, so_far: Answers) -> Answers:
        """Return the answers with one more; `given` is the answer of the command line.

        Raises:
            UsageError: there is no answer, or it is wrong and there is nobody to ask again.
        """
        if given is not None:
            return self._taken(question, given, so_far, f"--{question.option}")
        default = question.default(so_far)
        shown = f" [{default}]" if default else ""
        while True:
            text = self._line(f"{question.text}{shown} ")
            if text is None:
                raise UsageError(
                    f"there is no answer to question {QUESTIONS.index(question) + 1} of"
                    f" {len(QUESTIONS)} ({question.option}), so nothing was written",
                    cure="Answer at a terminal, pipe in a line for each question, or say"
                    f" --{question.option}=...",
                )
            try:
                return self._taken(question, text or default, so_far, question.option)
            except UsageError as error:
                if not self._source.isatty():
                    raise
                self.say(str(error))

    def _taken(self, question: Question, text: str, so_far: Answers, where: str) -> Answers:
        try:
            return question.take(text, so_far)
        except (ValueError, UsageError) as error:
            raise UsageError(f"{where}: {error}") from error

    def confirm_overwrite(self, file: str) -> None:
        """Ask whether a file may be replaced; raises `UsageError` where it may not."""
        if self._source.isatty():
            text = self._line(f"{file} already exists. Replace it? [no] ")
            if text is not None and text.lower() in ("y", "yes"):
                return
        raise UsageError(
            f"'{file}' already exists, so nothing was written",
            cure="Name another file behind 'new', or give --overwrite",
        )

    def say(self, text: str) -> None:
        """Write a line."""
        print(f"gcm-deploy: {text}", file=self._out, flush=True)

    def _line(self, prompt: str) -> str | None:
        """Return the line typed at a prompt, None at the end of the input."""
        self._out.write(prompt)
        self._out.flush()
        line = self._source.readline()
        if not self._source.isatty():
            self._out.write(f"{line.strip()}\n")  # no terminal has shown it
        elif not line:
            self._out.write("\n")
        return line.strip() if line else None
