"""Which variables of the caller reach the ranks, and on which machines."""

from __future__ import annotations

from typing import Any

from runtime.deployment import make_plan
from runtime.deployment.environment import matching
from runtime.step_name import StepName

CALLER = {
    "OMP_NUM_THREADS": "2", "MKL_DEBUG": "1", "PYTHONHASHSEED": "0", "MPI4PY_RC_THREADS": "no",
    "PATH": "/bin", "HOME": "/home/me", "PYTHONPATH": "/x", "HEAT_A": "a", "HEAT_B": "b",
}  # fmt: skip

GRID = (
    '<grid><site name="s"><cluster name="here"/>'
    '<cluster name="there"><ssh host="h"/><mpi flavour="{flavour}"/>{nodes}</cluster></site></grid>'
)


def environments(read: Any, elements: str, flavour: str = "auto") -> list[dict[str, str]]:
    text = (
        f"<application script='a'>{elements}</application>{GRID.format(flavour=flavour, nodes='')}"
    )
    plan = make_plan(read(f"<deployment>{text}</deployment>", environment=CALLER).good)
    found = [dict(plan.step(StepName.parse(f"ranks:0:{number}")).environment) for number in (0, 1)]
    return [{name: one[name] for name in one if "MCA" not in name} for one in found]


def test_a_short_list_travels_to_other_machines_and_is_there_on_this_one_anyway(read: Any) -> None:
    here, there = environments(read, "")
    assert here == {}
    assert sorted(there) == ["MKL_DEBUG", "MPI4PY_RC_THREADS", "OMP_NUM_THREADS", "PYTHONHASHSEED"]


def test_what_the_descriptor_says_wins_everywhere(read: Any) -> None:
    here, there = environments(
        read, '<environment name="OMP_NUM_THREADS" value="8"/><environment name="E" value=""/>'
    )
    assert here == {"OMP_NUM_THREADS": "8", "E": ""}
    assert there.items() >= here.items()


def test_a_variable_without_a_value_has_the_callers_and_a_pattern_stands_for_all(
    read: Any,
) -> None:
    here, there = environments(
        read, '<environment name="HEAT_*"/><environment name="HEAT_B" value="mine"/>'
    )
    assert here == {"HEAT_A": "a", "HEAT_B": "mine"}
    assert there.items() >= here.items()


def test_open_mpi_is_told_the_names_of_all_that_travels_and_no_value(read: Any) -> None:
    grid = GRID.format(flavour="openmpi", nodes='<nodes hosts="n[1-2]"/>')
    text = f'<application script="a"><environment name="HEAT_A"/></application>{grid}'
    plan = make_plan(read(f"<deployment>{text}</deployment>", environment=CALLER).good)
    step = plan.step(StepName.parse("ranks:0:1"))
    handed = [step.argv[at + 1] for at, word in enumerate(step.argv) if word == "-x"]
    assert sorted(handed) == sorted(step.environment)
    assert "HEAT_A" in handed


def test_only_the_star_stands_for_other_text() -> None:
    assert matching("HEAT_*", CALLER) == {"HEAT_A": "a", "HEAT_B": "b"}
    assert matching("HEAT_?", {"HEAT_A": "a"}) == {}
    assert matching("MISSING", CALLER) == {}
