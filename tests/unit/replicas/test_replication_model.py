"""Every state of small runs of the replication core, and wrong protocols that must be noticed."""

import pytest

from tools.replication_check.__main__ import main
from tools.replication_check.mutations import MUTATIONS
from tools.replication_check.properties import AllProperties
from tools.replication_check.sizes import SIZES
from tools.replication_check.space import explore


@pytest.mark.parametrize("name", [name for name, size in SIZES.items() if size.is_quick])
def test_all_properties_hold_in_all_states(name: str) -> None:
    found = explore(SIZES[name], AllProperties)
    assert not found.problem, "\n".join(found.trace)
    assert found.is_complete
    assert found.states > 1000
    assert found.ends > 1


@pytest.mark.parametrize("name", [name for name, one in MUTATIONS.items() if one.is_quick])
def test_the_check_notices_a_protocol_that(name: str) -> None:
    mutation = MUTATIONS[name]
    with mutation.planted():
        found = explore(SIZES[mutation.size], AllProperties)
    assert found.problem.startswith(mutation.breaks), found.problem
    assert found.trace


def test_the_command_prints_states_and_the_way_to_a_problem(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["--size", "one message", "--crashes", "0"]
    assert main(arguments) == 0
    assert "states of processes" in capsys.readouterr().out
    with MUTATIONS["never commits"].planted():
        assert main(arguments) == 1
    assert "nothing left: backup of rank 0\n    0: step" in capsys.readouterr().out
