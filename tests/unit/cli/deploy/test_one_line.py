"""A program and its machine on one line: what it means, what it is the same as, what is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.cli.lab_run import read_line
from runtime.cli.line.options import read_options
from runtime.deployment.machine_argument import Emulation, HostArgument
from runtime.exit_codes import FAULTS, OUTPUT_FAILED, WRONG_USAGE

Deploy = Callable[..., Any]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with programs of all kinds."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "ring.py").touch()
    (tmp_path / "sub" / "ring.py").touch()
    (tmp_path / "tool").write_text("#!/usr/bin/env python3\n")
    (tmp_path / "a.out").write_bytes(b"\x7fELF")
    for name in ("tool", "a.out"):
        (tmp_path / name).chmod(0o755)
    (tmp_path / "laptop.xml").write_text(
        '<deployment><application script="ring.py"/><emulate ranks="2"/></deployment>'
    )
    (tmp_path / "hello.fractal").write_text('<definition name="hello"/>')
    return tmp_path


@pytest.mark.parametrize(
    ("line", "program", "machine", "arguments"),
    [
        ("-n 4 ring.py", "ring.py", Emulation(1, 1, 4), ()),
        ("-n4 ring.py", "ring.py", Emulation(1, 1, 4), ()),
        ("-np 4 ring.py", "ring.py", Emulation(1, 1, 4), ()),
        ("--emulate 2x2x2 ring.py a b", "ring.py", Emulation(2, 2, 2), ("a", "b")),
        ("--emulate=2x4 ring.py", "ring.py", Emulation(1, 2, 4), ()),
        ("-n 4 ring.py --quiet -n 5", "ring.py", Emulation(1, 1, 4), ("--quiet", "-n", "5")),
        ("-n 4 -- ring.py x", "ring.py", Emulation(1, 1, 4), ("x",)),
        ("-n 4 ring.py -- x", "ring.py", Emulation(1, 1, 4), ("x",)),
        ("-n 4 ring.py -- -- x", "ring.py", Emulation(1, 1, 4), ("--", "x")),
        ("-n 4 ring.py x -- y", "ring.py", Emulation(1, 1, 4), ("x", "--", "y")),
        ("-n 4 -- -odd.py", "-odd.py", Emulation(1, 1, 4), ()),
        ("-n 4 -m a.b --dry-run", "a.b", Emulation(1, 1, 4), ("--dry-run",)),
        ("-ma.b -n 4", None, None, None),
        ("-H a:2,b ring.py", "ring.py", ((HostArgument("a", "", 2), HostArgument("b")),), ()),
        ("-Ha -H b ring.py", "ring.py", ((HostArgument("a"),), (HostArgument("b"),)), ()),
        ("--tag-output --timeout 5 -n 1 ring.py", "ring.py", Emulation(1, 1, 1), ()),
        ("--set a=b -x C -n 1 ring.py", "ring.py", Emulation(1, 1, 1), ()),
        ("-n 1 laptop", "laptop", Emulation(1, 1, 1), ()),
    ],
)
def test_the_program_ends_the_options(
    line: str, program: str | None, machine: object, arguments: tuple[str, ...]
) -> None:
    if program is None:  # behind a module all is its own, so no machine was named
        with pytest.raises(SystemExit):
            read_options(line.split())
        return
    options = read_options(line.split())
    assert options.one_line is not None
    assert (options.one_line.program, options.one_line.machine) == (program, machine)
    assert options.arguments == arguments
    assert (options.descriptor, options.quiet, options.dry_run) == ("", False, False)
    assert options.one_line.is_module == (program == "a.b")


@pytest.mark.parametrize(
    ("line", "same"),
    [
        ("--np 3", "-n 3"),
        ("--ntasks 3", "-n 3"),
        ("--host a:2,b", "-H a:2,b"),
        ("-n 3 -host a:2,b", "-H a:2,b"),
        ("-np 3 --host a", "-H a:3"),
        ("-hosts a,b -ppn 2", "-H a:2,b:2"),
        ("--hostfile hosts --oversubscribe", "-H a:2,b:3,c"),
    ],
)
def test_words_of_mpiexec_mpirun_and_srun_are_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, same: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hosts").write_text("a slots=2 # fast\n\nb:3\nc\n")
    machines = [read_options([*one.split(), "ring.py"]).one_line for one in (line, same)]
    assert machines[0] is not None
    assert machines[1] is not None
    assert machines[0].machine == machines[1].machine


@pytest.mark.parametrize("option", ["-f hosts", "-fhosts", "--hostfile=hosts"])
def test_files_that_options_name_are_known_and_numbers_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hosts").write_text("a\nb\n")
    options = read_options([*f"{option} -ppn 2 --log run.log -x A=1".split(), "ring.py", "-f", "c"])
    assert options.one_line is not None
    assert sorted(options.one_line.files) == ["hosts", "run.log"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("ring.py a", "say how many ranks, before the program: gcm-peer run -n 4 ring.py a"),
        ("-r 2 ring.py -n 3", "before the program: gcm-peer run -n 3 -r 2 ring.py"),
        (
            "-n 4 -w abc ring.py",
            "argument -w: 'abc' is not a time: a number of seconds, or such as",
        ),
        ("-n 4 --hostfile hosts ring.py", "--hostfile is not for a lab, whose peers say"),
        ("--oversubscribe -n 4 ring.py", "--oversubscribe is not for a lab, whose peers say"),
        ("-n 4 --host=a:2,b ring.py", "--host is not for a lab, whose peers say"),
    ],
)
def test_gcm_run_says_what_is_missing(
    capsys: pytest.CaptureFixture[str], line: str, complaint: str
) -> None:
    with pytest.raises(SystemExit):
        read_line(line.split())
    told = capsys.readouterr().err
    assert told.startswith("gcm-peer run: error: ")
    assert complaint in told
    assert read_line(["-n", "4", "-w", "90", "ring.py"]).one_line is not None


def test_options_before_the_program_are_those_of_the_command() -> None:
    words = ["--quiet", "--set", "a=b", "-n", "1", "--format", "json", "-x", "A=1", "ring.py"]
    options = read_options(words)
    assert (options.quiet, options.format, options.settings) == (True, "json", {"a": "b"})
    assert options.variables == ("A=1",)


def test_of_a_variable_that_is_given_twice_the_last_value_counts(deploy: Deploy) -> None:
    words = ["-x", "A=1", "-x", "B=3", "-x", "A=2", "--write", "-", "-n", "1", "ring.py"]
    found = re.findall(r'<environment name="(\w)" value="(\d)"/>', deploy(*words).out)
    assert found == [("B", "3"), ("A", "2")]
    assert read_options(["-x", "A=1", "-x", "A", "laptop.xml"]).variables == ("A",)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("ring.py -n 4", "-n, --emulate, -H and -m stand before the program, so before ring.py"),
        ("laptop.xml --emulate 2", "stand before the program, so before laptop.xml"),
        ("-n 4", "name a program after the options"),
        ("-n four ring.py", "argument -n/-np: 'four' is"),
        ("-n 2x2 ring.py", "argument -n/-np: '2x2' is"),
        ("--emulate 2y2 ring.py", "argument --emulate: '2y2' is"),
        ("--emulate 2x2x2 --wan 20 ring.py", "'20' has no unit: write 20ms or 20s, the delay"),
        ("--emulate 50x50x50 ring.py", "125,000 ranks do not fit into the "),
        ("-H a,,b ring.py", "argument -H: 'a,,b' has a comma"),
        ("-n 4 --emulate 2x2 ring.py", "only one of -n, --emulate and -H can be"),
        ("-n 4 -H a:3 ring.py", "-n asks for 4 ranks, and the hosts have 3 in all: say for each"),
        ("-n 4 -ppn 2 ring.py", "-ppn says how many ranks each host has, so it needs hosts"),
        ("--hostfile none ring.py", "the file of hosts 'none' cannot be read: No such file"),
        ("-n 4 --python p ring.py", "--python is for the hosts of -H"),
        ("-H localhost:2 --python p ring.py", "--python is for the hosts of -H elsewhere"),
        ("-m package.module", "gcm-deploy --emulate 2x2x2 -m package.module "),
        ("--write a.xml laptop.xml", "--write is for a program with -n, --emulate or -H"),
        ("--emulat 2x2 ring.py", "unrecognized arguments: --emulat ring.py"),
        ("--emulat 2x2 ring.py", "did you mean '--emulate'?"),
        ("--dryrun laptop.xml", "did you mean '--dry-run'?"),
        ("--verison", "did you mean '--version'?"),
        ("laptop.xml --steps 20", "arguments for the program of a descriptor stand behind '--'"),
        ("laptop.xml --format jsn", "did you mean 'json'?"),
        ("--dry-run --write a.xml -n 2 ring.py", "not allowed with argument --dry-run"),
        ("ring.py", "'ring.py' is a program and not a descriptor; say where to run it:\n"),
        ("ring.py", "  gcm-deploy -n 4 ring.py  "),
        ("ring.py -- a b", "  gcm-deploy --emulate 2x2x2 ring.py a b  "),
        ("ring.py", "  gcm-deploy -H host1:4,host2:4 ring.py  "),
        ("rong.py", "'rong.py' is a program and not a descriptor"),
        ("./a.out", "'./a.out' is a program and not a descriptor"),
        ("run laptop.xml", "gcm-deploy; type: gcm-deploy laptop.xml\n"),
        ("run ring.py a", "type: gcm-deploy -n 4 ring.py a\n"),
        ("run hello.fractal", "type: gcm run hello.fractal\n"),
        ("check laptop.xml", "type: gcm check laptop.xml\n"),
        ("show laptop.xml", "type: gcm-deploy --dry-run laptop.xml\n"),
        ("draw laptop.xml", "type: gcm-deploy --draw machine.svg laptop.xml"),
        ("draw hello.fractal", "type: gcm draw hello.fractal\n"),
        ("run", "type: gcm-deploy DESCRIPTOR\n"),
        ("help", "type: gcm-deploy --help\n"),
        ("neww", "'neww' is neither a file nor a command of gcm-deploy; did you mean 'new'?"),
        ("complete bash", "did you mean 'completion'?"),
        ("hello.fractal", "gcm run hello.fractal runs it in one process; to put it on nodes"),
        ("--dry-run --set a=b hello.fractal", ": gcm show hello.fractal --set a=b shows it"),
        ("-n 4 laptop.xml", "'laptop.xml' is a descriptor, which says itself"),
        ("-n 4 hello.fractal", "'hello.fractal' is an assembly, which runs in one process"),
        ("-n 4 sub", "'sub' is a folder. Name a program in it"),
        ("-n 4 python ring.py", "so leave 'python' out: gcm-deploy -n 4 ring.py\n"),
        ("-n 4 /usr/bin/python3.11 -u -m a b", "out: gcm-deploy -n 4 -m a b\n"),
        ("-n 0 ring.py", "argument -n/-np: '0' asks for 0 ranks: it can be 1 to 10,000"),
        ("--emulate 2x0x2 ring.py", "'2x0x2' asks for 0 clusters: it can be 1 to 100"),
        ("-H a:0 ring.py", "argument -H: 'a:0' asks for 0 ranks"),
        ("-n 4 rong.py", "there is no file 'rong.py'. did you mean 'ring.py'?\n"),
        ("-n 4 ./a.put", "there is no file './a.put'. did you mean './a.out'?\n"),
        ("-H a /opt/tool", "A program that only the hosts have is named as their search path"),
        ("-n 4 rin", "there is no program 'rin'"),
        ("-n 4 rin", "did you mean 'ring.py'?"),
        ("-n 4 -x NONE_SUCH ring.py a\x01", "no descriptor"),
    ],
)
def test_what_is_wrong_comes_with_what_to_type(deploy: Deploy, line: str, complaint: str) -> None:
    answer = deploy(*line.split())
    assert (answer.code, answer.out) == (WRONG_USAGE, "")
    assert complaint in answer.err


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("-n 4 --set a=b ring.py", "command line: error[unknown-setting]"),
        ("-n 4 -x NONE_SUCH ring.py", "NONE_SUCH"),
        ("-n 4 --set a=b -x NONE_SUCH -x NO_OTHER ring.py", "3 faults"),
    ],
)
def test_faults_are_those_of_a_descriptor_all_at_once(
    deploy: Deploy, line: str, complaint: str
) -> None:
    answer = deploy(*line.split())
    assert (answer.code, answer.out) == (FAULTS, "")
    assert complaint in answer.err


def test_a_file_called_like_a_command_is_named_with_its_folder(
    deploy: Deploy, folder: Path
) -> None:
    (folder / "laptop.xml").rename(folder / "new")
    answer = deploy("--dry-run", "./new")
    assert (answer.code, answer.err) == (0, "")
    (folder / "new").rename(folder / "start")
    assert deploy("start", "--dry-run").code == 0


LINES = [
    "-n 2 ring.py",
    "--emulate 2x2x2 ring.py --steps 20 ${HOME} -- x",
    "-n 2 sub/ring.py",
    "-n 2 ./tool",
    "-n 2 tool",
    "-n 2 ./a.out 1",
    "-n 2 a.out",
    "-n 2 ls -l",
    "-n 2 -m sub.ring a",
    "-n 2 -x HOME -x A=b ring.py",
    "-H localhost:2,ana@lyon:4 --python /opt/python ring.py",
    "-H node[1-2]:8 -H [::1] sub/ring.py a",
]


@pytest.mark.parametrize("line", LINES)
def test_the_written_descriptor_makes_the_same_plan(
    deploy: Deploy, folder: Path, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = deploy("--dry-run", "--format", "json", *line.split())
    assert (shown.code, shown.err) == (0, "")
    (folder / "other").mkdir()
    for file in ("here.xml", "other/there.xml", str(folder / "sub" / "far.xml")):
        written = deploy("--write", file, *line.split())
        assert (written.code, written.out) == (0, "")
        assert written.err == f"gcm-deploy: wrote {file}\n"
        with monkeypatch.context() as elsewhere:
            elsewhere.chdir("/")
            again = deploy("--dry-run", "--format", "json", folder / file)
        assert (again.code, again.err) == (0, "")
        first, second = json.loads(shown.out), json.loads(again.out)
        for plan in first, second:
            # the folder and the name of the document itself, and that it lies among the files
            del plan["variables"], plan["programs"]
        assert first == second


def test_a_dash_shows_the_descriptor(deploy: Deploy, folder: Path) -> None:
    before = sorted(folder.iterdir())
    answer = deploy("--write", "-", "--emulate", "2x2", "ring.py")
    assert (answer.code, answer.err) == (0, "")
    assert '<application script="ring.py"/>' in answer.out
    assert '<emulate sites="1" clusters="2" ranks="2"/>' in answer.out
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(("places", "most"), [("2(x2)", 2), ("3,1", 3)])
def test_what_is_written_in_a_job_asks_the_queue_for_as_much_again(
    deploy: Deploy, monkeypatch: pytest.MonkeyPatch, places: str, most: int
) -> None:
    job = {"SLURM_JOB_ID": "17", "SLURM_JOB_NUM_NODES": "2", "SLURM_TASKS_PER_NODE": places}
    for name, value in job.items():
        monkeypatch.setenv(name, value)
    written = deploy("--write", "-", "ring.py").out
    assert f'<batch system="slurm" nodes="2" tasks-per-node="{most}"/>' in written
    assert '<mpi ranks="4"/>' in written


def test_a_file_is_never_overwritten_and_no_faulty_descriptor_is_written(
    deploy: Deploy, folder: Path
) -> None:
    before = (folder / "laptop.xml").read_text()
    answer = deploy("--write", "laptop.xml", "-n", "2", "ring.py")
    assert (answer.code, answer.out) == (OUTPUT_FAILED, "")
    assert answer.err == "gcm-deploy: 'laptop.xml' already exists. Name another file\n"
    assert (folder / "laptop.xml").read_text() == before
    assert deploy("--write", "none/a.xml", "-n", "2", "ring.py").code == OUTPUT_FAILED
    words = ("--write", "new.xml", "-n", "2", "-x", "NONE_SUCH", "ring.py")
    assert deploy(*words).code == FAULTS
    assert not (folder / "new.xml").exists()


@pytest.mark.parametrize(
    ("line", "application"),
    [
        (". ring.py", 'script="ring.py"'),
        (". sub/ring.py", 'script="sub/ring.py" folder="."'),
        (". sub/../ring.py", 'script="ring.py"'),
        ("sub ../ring.py", 'script="../ring.py"'),
        ("sub ../sub/ring.py", 'script="ring.py"'),
        (". /usr/bin/env", 'executable="../../usr/bin/env"'),
        (". -m sub.ring", 'module="sub.ring"'),
        (". tool", 'script="tool"'),
        (". a.out", 'executable="./a.out"'),
        (". env", 'executable="env"'),
    ],
)
def test_ranks_start_here_where_the_program_is_below_and_else_beside_it(
    deploy: Deploy, monkeypatch: pytest.MonkeyPatch, line: str, application: str
) -> None:
    here, *words = line.split()
    monkeypatch.chdir(here)
    text = deploy("--write", "-", "-n", "2", *words).out
    (found,) = [row.strip() for row in text.splitlines() if "<application" in row]
    up = os.path.relpath("/usr/bin/env")
    assert found == f"<application {application.replace('../../usr/bin/env', up)}/>"


def test_a_descriptor_runs_without_loading_what_is_for_one_line() -> None:
    program = (
        "import sys\n"
        "from runtime.cli import main\n"
        "try:\n"
        "    main(sys.argv[1:])\n"
        "except SystemExit:\n"
        "    pass\n"
        "lazy = {'shtab', 'runtime.deployment.compose'}\n"
        "lazy |= {f'runtime.cli.{name}' for name in ('new', 'line.mistaken_words')}\n"
        "lazy |= {'runtime.deployment', 'gcm.documents'} if '--help' in sys.argv else set()\n"
        "print(sorted(lazy & set(sys.modules)))\n"
    )
    for words in ["--help"], ["--dry-run", "laptop.xml"]:
        done = subprocess.run(
            [sys.executable, "-c", program, *words],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert done.stdout.splitlines()[-1] == "[]"
