"""Runs in jobs of a real OAR, by the command that a user types; its own record is asked."""

from __future__ import annotations

import re

import pytest

from tests.integration.batch.batch_contract import BatchSystemContract
from tests.integration.batch.oar_daemons import Oar
from tests.integration.batch.site import HELLO, end_of, wait_until
from tools.on_grids import COMMAND

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.needs_root,
    pytest.mark.needs_oar,
    pytest.mark.timeout(300),  # the first one waits for the daemons, 100 s on a busy machine
]


class TestOar(BatchSystemContract):
    waits = r"Waiting \(R=4,W=0:5:0,J=B,N=gcm-"
    refuses = "The queue nowhere does not exist"
    warns = r"(Warning: Permanently added .* to the list of known hosts.\n)*"

    @pytest.fixture
    def site(self, oar: Oar) -> Oar:
        return oar


@pytest.mark.shows("inside an allocation")
def test_a_script_of_oarsub_runs_a_program_on_all_of_its_nodes(oar: Oar) -> None:
    script = oar.work / "script.sh"
    command = " ".join(f"'{word}'" for word in (*COMMAND, "hello.py"))
    settings = " ".join(f"'{name}={value}'" for name, value in oar.environment.items())
    script.write_text(f"#!/bin/sh\ncd {oar.work}\nenv {settings} {command}\n")
    script.chmod(0o755)
    (oar.work / "hello.py").write_text(HELLO)
    wanted = ("-l", "/nodes=2/core=2,walltime=0:2:0", "-O", "out.txt", "-E", "errors.txt")
    code, said, errors = oar.call("oarsub", *wanted, str(script))
    assert code == 0, errors
    (number,) = re.findall(r"^OAR_JOB_ID=(\d+)$", said, re.MULTILINE)
    wait_until(lambda: not oar.queue(), 60)
    job = oar.record(number)
    printed = sorted((oar.work / "out.txt").read_text().splitlines())
    assert printed == [f"{rank} of 4 on {job.nodes[rank // 2]}" for rank in range(4)], (
        oar.work / "errors.txt"
    ).read_text()
    assert job.state == "Terminated"
    wait_until(oar.is_given_back)


def test_two_clusters_reserve_nodes_from_a_common_start_on(oar: Oar) -> None:
    path = oar.descriptor(HELLO, cluster=oar.cluster("saone"))
    code, said, errors = end_of(oar.start(path, "--verbose", "--summary"), 180)
    assert (code, said.count("of 4")) == (0, 4), errors
    assert "rhone: reserves nodes" in errors
    (row,) = re.findall(r"^lyon +(\d+), (\d+) .* (\S+)$", errors, re.MULTILINE)
    assert float(row[2]) < 0.01, errors
    for number in row[:2]:
        assert "reservation = Scheduled" in oar.run("oarstat", "-f", "-j", number)
    wait_until(oar.is_given_back)
