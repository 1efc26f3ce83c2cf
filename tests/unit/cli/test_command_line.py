"""The command line: help with examples, wrong usage, and where the output goes."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from gcm.cli import main
from gcm.cli import options as cli_options

Gcm = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("command", ["check", "show", "draw", "run"])
def test_each_command_has_help_with_examples(gcm: Gcm, command: str) -> None:
    code, out, _ = gcm(command, "--help")
    assert code == 0
    assert out.startswith(f"usage: gcm {command} ")
    assert f"examples:\n  gcm {command} " in out


def test_the_help_lists_the_commands(gcm: Gcm) -> None:
    code, out, _ = gcm("--help")
    assert code == 0
    commands = re.findall("^    ([a-z]+)(?: |$)", out, re.MULTILINE)
    assert commands == ["check", "show", "draw", "port", "run", "completion"]


def test_the_version_is_told(gcm: Gcm) -> None:
    code, out, _ = gcm("--version")
    assert code == 0
    assert out.startswith("gcm ")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "required: COMMAND; it is one of check, show, draw, port, run, completion"),
        (("fly",), "invalid choice: 'fly'"),
        (("check",), "the following arguments are required: FILE"),
        (("check", "--format", "yaml", "a"), "invalid choice: 'yaml'"),
        (("run", "a", "--set", "x"), "argument --set: 'x' is not NAME=VALUE"),
        (("run", "a", "--set", " =1"), "argument --set: ' =1' is not NAME=VALUE"),
        (("show", "a", "--form", "json"), "arguments: --form json; did you mean '--format'?"),
        (("show", "a", "b"), "gcm show: error: unrecognized arguments: b (see gcm show --help)\n"),
    ],
)
def test_wrong_usage_is_exit_code_2(gcm: Gcm, arguments: tuple[str, ...], complaint: str) -> None:
    code, out, err = gcm(*arguments)
    assert (code, out) == (2, "")
    assert complaint in err


def test_ctrl_c_while_the_command_is_loaded_shows_no_traceback() -> None:
    interrupted = """if True:
        import sys
        class Interrupted:
            def find_spec(self, name, *_):
                if name.endswith("cli.command"):
                    raise KeyboardInterrupt
        sys.meta_path.insert(0, Interrupted())
        from {package}.cli import main
        sys.exit(main(["--help"]))
    """
    for package, command in ("gcm", "gcm"), ("runtime", "gcm-deploy"):
        done = subprocess.run(
            [sys.executable, "-c", interrupted.format(package=package)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert (done.returncode, done.stdout) == (130, "")
        assert done.stderr == f"{command}: interrupted\n"


def test_settings_keep_everything_behind_the_first_equals_sign() -> None:
    options = cli_options.GCM.parser().parse_args(
        ["run", "a.fractal", "--set", "x=1=2", "--set", " y = z ", "--path", "p", "--path", "q"]
    )
    assert options.settings == [("x", "1=2"), ("y", " z ")]
    assert options.path == ["p", "q"]


def test_the_help_is_shown_without_loading_what_the_commands_need() -> None:
    program = (
        "import sys\n"
        "from gcm.cli import main\n"
        "try:\n"
        "    main(['--help'])\n"
        "except SystemExit:\n"
        "    pass\n"
        "print(sorted({'gcm.adl', 'gcm.drawing', 'numpy', 'lxml', 'rich'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_text_that_the_terminal_cannot_show_is_no_error(
    hello: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="ascii"))
    assert main(["show", hello]) == 0
    assert b"\\u251c\\u2500 server run: Runnable \\u2192 client.run" in shown.getvalue()
