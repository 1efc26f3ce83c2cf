"""`gcm.h`: the machine, walltimes and other codes, for programs and libraries in C."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import gcm_deploy

ROOT = Path(__file__).parents[2]
BIN = Path(sys.prefix) / "bin"
STRICT = ("-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-std=c99")

pytestmark = pytest.mark.mpi

IN_PYTHON = """
import numpy as np
from runtime import coupling

def recv(tag):
    return coupling.recv(code="c", rank=0, tag=tag)

integers, text, raw, empty, large = (recv(tag) for tag in range(1, 6))
print(integers.dtype, integers.tolist(), repr(text), raw, empty.tolist(), large[-1], large.size)
integers[0] = 1  # it is the receiver's own

def send(value, tag):
    coupling.send(value, code="c", tag=tag)

send(np.array([[1.5], [2.5]]), 1)
send("né", 2)
send(0.25, 3)
send([7, 8, 9], 4)
send(np.array([0.5]), 5)
send({"no": "array"}, 5)
send(np.arange(3, dtype="i4"), 5)
send(2**40, 5)
recv(10)
send(np.int16(11), 10)
"""
COUPLED = """
<deployment>
  <application name="c" executable="{program}" clusters="here/one">{argument}</application>
  <application name="python" script="{script}" clusters="there/other"/>
  <grid>
    <site name="here"><cluster name="one"><mpi ranks="1"/></cluster></site>
    <site name="there"><cluster name="other"><mpi ranks="1"/></cluster></site>
  </grid>
</deployment>
"""
LIBRARY = """
#include <gcm.h>
static int saved;
static void save(void *what) { saved += *(int *)what; }
int before(void) { static int two = 2; return gcm_before_walltime(save, &two); }
int saved_at(int is_native) {
    int flag;
    if (is_native) gcm_time_left();
    else MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    return saved;
}
int size(void) { int size; MPI_Comm_size(GCM_COMM_SITE, &size); return size; }
"""
IN_A_RANK = """
import ctypes, sys
from mpi4py import MPI
from runtime.membership.rank_link import current
library = ctypes.CDLL("./libown.so")
assert library.before() == 0
is_native = MPI.COMM_WORLD.rank % 2
print(library.size(), library.saved_at(is_native), end=" ")
current().wrapper.limit_time(100, 0)
print(library.saved_at(is_native), library.saved_at(is_native))
"""


def compile_c(source: Path, target: Path, *options: str) -> None:
    if shutil.which("gcc") is None or not (BIN / "mpicc").exists():
        pytest.skip("gcc and the wheel of MPICH, which has mpicc and headers, are needed")
    folder = gcm_deploy("--include").stdout.strip()
    command = [str(BIN / "mpicc"), *options, f"-I{folder}", "-o", str(target), str(source)]
    subprocess.run(command, check=True, timeout=120)


def test_the_example_couples_a_code_in_c_and_one_in_python_as_the_page_shows(
    tmp_path: Path,
) -> None:
    example = tmp_path / "example"
    shutil.copytree(ROOT / "examples" / "31_c_and_python", example)
    compile_c(example / "ocean.c", example / "ocean", *STRICT)
    done = gcm_deploy("coupled.xml", cwd=example)
    assert (done.returncode, done.stderr) == (0, "")
    compiled = "$ mpicc -I$(gcm-deploy --include) -o ocean ocean.c\n$ gcm-deploy coupled.xml\n"
    assert f"```console\n{compiled}{done.stdout}```" in (ROOT / "docs" / "c.md").read_text()


def test_communicators_and_topology_are_those_of_the_machine(tmp_path: Path) -> None:
    compile_c(ROOT / "tests" / "c" / "header" / "facts.c", tmp_path / "facts", *STRICT)
    done = gcm_deploy("--emulate", "2x2x1", "./facts", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == [
        "0 0 1 1 of 0",
        "0 1 3 3 of 1",
        "0: 1 2 4 2 2 unlimited",
        "1: 1 2 4 2 0 unlimited",
        "2: 1 2 4 2 2 unlimited",
        "3: 1 2 4 2 0 unlimited",
    ]
    (tmp_path / "facts.py").write_text(
        "from mpi4py import MPI\n"
        "half = MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank % 2)\n"
        "print(half.Get_attr(MPI.TOPOLOGY_DEPTHS), half.Get_attr(MPI.TOPOLOGY_COLORS),\n"
        "      MPI.COMM_CLUSTER.Get_attr(MPI.TOPOLOGY_COLORS))\n"
    )
    python = gcm_deploy("--emulate", "2x2x1", "facts.py", cwd=tmp_path).stdout.splitlines()
    assert "(4, 4) ((0, 0, 1, 1), (0, 1, 3, 3)) ((0, 1, 3, 3),)" in python


def test_a_program_that_mpiexec_starts_is_one_cluster_without_other_codes(tmp_path: Path) -> None:
    compile_c(ROOT / "tests" / "c" / "header" / "facts.c", tmp_path / "facts", *STRICT)
    done = subprocess.run(
        [str(BIN / "mpiexec"), "-n", "2", "./facts", "sends"],
        check=True, capture_output=True, text=True, timeout=60, cwd=tmp_path,
    )  # fmt: skip
    said = ["0: 2 2 2 2 2 unlimited", "1: 2 2 2 2 2 unlimited", "not sent"]
    assert sorted(done.stdout.splitlines()) == said
    sentence = "gcm_send: this program is not a rank of a deployment; start it with gcm-deploy"
    assert done.stderr.splitlines() == [sentence] * 2
    (tmp_path / "apart.xml").write_text(
        '<deployment><application executable="./facts" comm-world="cluster"/>'
        '<emulate clusters="2" ranks="1"/></deployment>'
    )
    apart = gcm_deploy("apart.xml", cwd=tmp_path)
    refusal = ': this program sees its own cluster only: comm-world="cluster" says so'
    assert (apart.returncode, refusal in apart.stderr) == (15, True)


def test_values_of_all_kinds_go_between_c_and_python_and_misfits_are_errors(tmp_path: Path) -> None:
    compile_c(ROOT / "tests" / "c" / "header" / "messages.c", tmp_path / "program", *STRICT)
    (tmp_path / "other.py").write_text(IN_PYTHON)
    for argument in ("", "<argument value='waits'/>"):
        told = COUPLED.format(program="./program", script="other.py", argument=argument)
        (tmp_path / "coupled.xml").write_text(told)
        done = gcm_deploy("coupled.xml", cwd=tmp_path)
        assert done.returncode == (15 if argument else 0), done.stderr
        assert sorted(done.stdout.splitlines()) == sorted([
            "int32 [3, -4, 5] 'hé' b'\\x00\\x01' [] 99999.0 100000",
            "1.5 2.5: 2 of python 0 1",
            "né",
            "0.25, 7 8 9",
            "type type truncate type",
            "type count other arg other arg",
            "count buffer type type type buffer arg arg",
            "11",
        ])  # fmt: skip
        assert "a message from rank 0 of python with tag 5 has dict, and MPI_INT is" in done.stderr
        assert not argument or "messages.c:68: CodeEnded: " in done.stderr


def test_a_library_in_a_rank_of_python_asks_the_same(tmp_path: Path) -> None:
    (tmp_path / "own.c").write_text(LIBRARY)
    compile_c(tmp_path / "own.c", tmp_path / "libown.so", "-shared", "-fPIC")
    (tmp_path / "program.py").write_text(IN_A_RANK)
    done = gcm_deploy("--emulate", "1x2x2", "program.py", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "4 0 2 2\n" * 4, "")


def test_a_library_that_sees_one_cluster_of_several_says_so_where_it_would_save(
    tmp_path: Path,
) -> None:
    (tmp_path / "own.c").write_text(LIBRARY)
    compile_c(tmp_path / "own.c", tmp_path / "libown.so", "-shared", "-fPIC")
    (tmp_path / "program.py").write_text(
        "import ctypes\nfrom mpi4py import MPI\n"
        "print(ctypes.CDLL('./libown.so').before() == MPI.ERR_OTHER)\n"
    )
    for world, clusters, cause in (
        ('comm-world="cluster"', 2, "this program sees its own cluster only: comm-world="),
        ('failures="return"', 2, "it sees its own cluster only: with failures="),
        ("", 1, "no library of gcm-deploy stands before the MPI of this program"),
    ):
        (tmp_path / "apart.xml").write_text(
            f'<deployment><application script="program.py" {world}/>'
            f'<emulate clusters="{clusters}" ranks="1"/></deployment>'
        )
        done = gcm_deploy("apart.xml", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, "True\n" * clusters), done.stderr
        assert f"gcm_before_walltime: {cause}" in done.stderr
