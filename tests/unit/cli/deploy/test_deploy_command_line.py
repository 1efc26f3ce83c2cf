"""The command line of `gcm-deploy`: what it accepts, what it shows, and how it refuses."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.cli.line.options import Format, ProgressMode, read_options
from runtime.cli.reference import render_options

SAMPLES = sorted(path.name for path in (Path(__file__).parents[4] / "descriptors").glob("*.xml"))


def test_the_options_have_defaults() -> None:
    options = read_options(["grid.xml"])
    assert (options.descriptor, options.settings, options.arguments) == ("grid.xml", {}, ())
    assert (options.dry_run, options.show_variables, options.quiet) == (False, False, False)
    assert (options.format, options.progress) == (Format.TEXT, ProgressMode.AUTO)
    assert (options.tag_output, options.output_dir) == (False, "")
    assert options.timeout == 60.0


def test_all_behind_the_first_double_dash_is_for_the_application() -> None:
    options = read_options(["--set", "a=b=c", "grid.xml", "--", "--dry-run", "--", "x"])
    assert options.arguments == ("--dry-run", "--", "x")
    assert (options.settings, options.dry_run) == ({"a": "b=c"}, False)


@pytest.mark.parametrize(
    ("words", "detach", "rest"),
    [
        (["--detach", "grid.xml"], ".", ("grid.xml", ())),
        (
            ["grid.xml", "--detach=ana@lyon", "--", "--detach"],
            "ana@lyon",
            ("grid.xml", ("--detach",)),
        ),
        (["--detach", "-n", "2", "pi.py", "--detach"], ".", ("", ("--detach",))),
        (["grid.xml"], "", ("grid.xml", ())),
    ],
)
def test_a_host_to_detach_to_is_named_behind_an_equals_sign_only(
    words: list[str], detach: str, rest: tuple[str, tuple[str, ...]]
) -> None:
    options = read_options(words)
    assert (options.detach, (options.descriptor, options.arguments)) == (detach, rest)


def test_seconds_may_be_written_as_a_descriptor_has_them() -> None:
    words = ["--timeout", "1.5min", "--run-timeout", "2h", "--explain-waits", "5s", "g.xml"]
    options = read_options(words)
    assert (options.timeout, options.run_timeout, options.explain_waits) == (90.0, 7200.0, 5.0)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--set", "ranks", "g.xml"], "argument --set: 'ranks' is not NAME=VALUE"),
        (["--set", " =1", "g.xml"], "argument --set: ' =1' is not NAME=VALUE"),
        (["--timeout", "0", "g.xml"], "'0' is not a number of seconds above 0"),
        (["--timeout", "inf", "g.xml"], "'inf' is not a number of seconds above 0"),
        (["--timeout", "soon", "g.xml"], "'soon' is not a number of seconds above 0"),
        (["--format", "xml", "g.xml"], "argument --format: invalid choice: 'xml'"),
        (["--dry", "g.xml"], "unrecognized arguments: --dry"),
        (["--quite", "g.xml"], "arguments: --quite; did you mean '--quiet'?"),
        ([], "name a program, as in gcm-deploy -n 4 program.py, or a DESCRIPTOR"),
        (
            ["--draw", "m.svg", "--report", "r.html", "--summary", "-n", "2", "pi.py"],
            "with --draw nothing runs, and --report, --summary are about a run: leave them out",
        ),
        (
            ["--dry-run", "--trace", "t.json", "g.xml"],
            "with --dry-run nothing runs, and --trace is about a run: leave it out",
        ),
        (
            ["--write", "g.xml", "--check", "-n", "2", "pi.py"],
            "with --write nothing runs, and --check is about a run",
        ),
        (
            ["--report", "run.html", "--trace", "./run.html", "-n", "2", "pi.py"],
            "--report and --trace would both write ./run.html: name two files",
        ),
    ],
)
def test_a_wrong_command_line_is_refused(
    deploy: Callable[..., Any], words: list[str], complaint: str
) -> None:
    answer = deploy(*words)
    assert (answer.code, answer.out) == (202, "")
    assert complaint in answer.err


def test_the_help_has_examples_and_exit_codes(deploy: Callable[..., Any]) -> None:
    answer = deploy("--help")
    assert answer.code == 0
    assert "gcm-deploy --dry-run laptop.xml" in answer.out
    assert "130 Ctrl-C" in answer.out


def test_the_version_is_told_with_the_name_of_the_command(deploy: Callable[..., Any]) -> None:
    answer = deploy("--version")
    assert answer.code == 0
    assert answer.out.startswith("gcm-deploy ")


@pytest.mark.parametrize("name", SAMPLES)
def test_a_dry_run_shows_the_commands_of_every_sample(
    deploy: Callable[..., Any], samples: Path, name: str
) -> None:
    answer = deploy("--dry-run", samples / name)
    assert answer.code == 0
    with_assembly = name == "components-on-nodes.xml"
    assert ("gcm check" in answer.err) if with_assembly else not answer.err
    assert answer.out.startswith(f"deployment {name.removesuffix('.xml').replace('laptop', '')}")
    assert "\n    $ " in answer.out
    plain = json.loads(deploy("--dry-run", "--format", "json", samples / name).out)
    assert all(step["name"] in answer.out for step in plain["steps"])


# The audit hook of a process cannot be taken away again, so it is switched on and off.
_TOUCHED: list[str] = []
_watching = False
_CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_EFFECTS = (
    "subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.system",
    "pty.spawn", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink",
    "os.truncate", "os.chmod", "os.utime", "shutil.", "tempfile.", "socket.bind", "socket.connect",
    "os.kill",
)  # fmt: skip


def _watch(event: str, details: tuple[Any, ...]) -> None:
    if not _watching:
        return
    writes = event == "open" and isinstance(details[2], int) and details[2] & _CHANGING
    bytecode = event == "open" and "__pycache__" in str(details[0])
    if (writes or event.startswith(_EFFECTS)) and not bytecode:
        _TOUCHED.append(f"{event} {details}")


def test_a_dry_run_starts_no_process_and_writes_no_file(
    deploy: Callable[..., Any], samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    global _watching  # noqa: PLW0603 - an audit hook is a thing of the whole process
    # bytecode of modules that are loaded for the first time is Python's, not the command's
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    sys.addaudithook(_watch)
    before = sorted(samples.parent.rglob("*"))
    try:
        _watching = True
        codes = [deploy("--dry-run", samples / name).code for name in SAMPLES]
    finally:
        _watching = False
    assert codes == [0] * len(SAMPLES)
    assert _TOUCHED == []
    assert sorted(samples.parent.rglob("*")) == before


def test_the_arguments_behind_the_double_dash_reach_every_rank_instead_of_those_of_the_file(
    deploy: Callable[..., Any], samples: Path
) -> None:
    written = samples / "laptop.xml"
    written.write_text(written.read_text().replace("<application ", '<application arguments="1" '))
    answer = deploy("--dry-run", written)
    assert all(line.endswith(" -- 1") for line in answer.out.splitlines() if "$ mpiexec" in line)
    answer = deploy("--dry-run", samples / "laptop.xml", "--", "--steps", "a b")
    commands = [line for line in answer.out.splitlines() if "$ mpiexec" in line]
    assert len(commands) == 4
    assert all(line.endswith(" -- --steps 'a b'") for line in commands)


def test_arguments_for_several_applications_are_refused(
    deploy: Callable[..., Any], samples: Path
) -> None:
    answer = deploy("--dry-run", samples / "coupled-codes.xml", "--", "x")
    assert (answer.code, answer.out) == (202, "")
    assert answer.err == (
        "gcm-deploy: the arguments behind '--' are for one application, but this descriptor has 2:"
        " ocean, atmosphere. Write them into the descriptor, as <argument value='...'/> of an"
        " <application>\n"
    )


def test_arguments_for_no_application_are_refused(
    deploy: Callable[..., Any], samples: Path
) -> None:
    answer = deploy("--dry-run", samples / "components-on-nodes.xml", "--", "x")
    assert answer.code == 202
    assert "but this descriptor has none" in answer.err


def test_variables_are_shown_with_their_origin(deploy: Callable[..., Any], samples: Path) -> None:
    file = samples / "quickstart.xml"
    answer = deploy("--show-variables", "--set", "ranks=3", file)
    assert answer.code == 0
    assert answer.out.splitlines() == [
        f"descriptor.folder = {samples}  (built in: {file})",
        f"descriptor.name = quickstart  (built in: {file})",
        "ranks = 3  (--set: --set ranks)",
        f"ring = {samples}/../examples/10_ring/ring.py  (descriptor: {file}:16)",
    ]
    plain = json.loads(deploy("--show-variables", "--format", "json", file).out)
    expected = {"name": "ranks", "value": "2", "origin": "descriptor", "source": f"{file}:15"}
    assert plain[2] == expected


FAULTY = """<deployment>
<application scipt="a.py"/>
<emulate sites="0"/>
</deployment>"""


def test_every_fault_of_a_descriptor_is_told_at_once(
    deploy: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "faulty.xml"
    file.write_text(FAULTY)
    answer = deploy(file)
    assert (answer.code, answer.out) == (201, "")
    *findings, last = answer.err.splitlines()
    assert f"{file}:2: error[" in findings[0]
    assert "did you mean 'script'?" in answer.err
    assert f"{file}:3: error[" in answer.err
    assert last == f"{len(findings)} faults"
    plain = json.loads(deploy("--format", "json", file).out)
    assert plain["errors"] == len(findings)
    assert {one["line"] for one in plain["findings"]} == {2, 3}


def test_a_missing_descriptor_is_a_fault_that_names_it(
    deploy: Callable[..., Any], tmp_path: Path
) -> None:
    answer = deploy(tmp_path / "none.xml")
    assert answer.code == 201
    assert answer.err.startswith(f"{tmp_path / 'none.xml'}: error[")


def test_files_that_do_not_exist_are_found_before_anything_starts(
    deploy: Callable[..., Any], samples: Path
) -> None:
    (samples.parent / "examples" / "10_ring" / "ring.py").unlink()
    answer = deploy("--dry-run", samples / "laptop.xml")
    assert (answer.code, answer.out) == (201, "")
    assert "error[no-such-file]" in answer.err


def test_virtual_nodes_are_compared_with_the_assembly_itself(
    deploy: Callable[..., Any], samples: Path
) -> None:
    file = samples / "components-on-nodes.xml"
    file.write_text(
        file.read_text().replace('virtual-node name="workers"', 'virtual-node name="w"')
    )
    answer = deploy("--dry-run", file)
    assert answer.code == 201
    assert re.search("'workers', .* no node", answer.err), answer.err


def test_warnings_do_not_keep_a_plan_from_being_shown(
    deploy: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "a.py").touch()
    file = tmp_path / "idle.xml"
    file.write_text(
        '<deployment><application script="a.py" clusters="s/a"/><grid><site name="s">'
        '<cluster name="a"/><cluster name="b"/></site></grid></deployment>'
    )
    answer = deploy("--dry-run", file)
    assert answer.code == 0
    assert "warning[idle-cluster]" in answer.err
    assert answer.out.startswith("deployment idle: 1 site, 2 clusters")


def test_the_list_of_options_explains_each_once_and_names_it_where_it_is_shared() -> None:
    parts = [part.partition("`\n") for part in render_options().split("### `") if part]
    sections = {name: text for name, _, text in parts}
    assert {"gcm check", "gcm-deploy", "gcm-peer run", "gcm-peer lab invite"} <= set(sections)
    assert sum("- `--record` `FILE`: " in text for text in sections.values()) == 1
    shared = next(
        line for line in sections["gcm-peer run"].splitlines() if "as for `gcm-deploy`" in line
    )
    assert {"`--summary`", "`--record`", "`-x`"} <= set(shared.partition(": ")[2].split(", "))
    assert "- as for `gcm-peer status`: `HOST[:PORT]`" in sections["gcm-peer hosts"]
