"""What the generator of random programs makes is valid, and so is every part; without MPI."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.random_programs import Program, expected, generate, shrink
from tools.random_programs.layouts import deposit, draw_layout, item_size, memory, positions
from tools.random_programs.rehearsal import rehearse
from tools.random_programs.trial import faults

SEEDS = st.integers(0, 10_000)
SIZES = st.integers(1, 6)


def operations(program: Program) -> set[str]:
    steps = [step for event in program.events for own in event.steps.values() for step in own]
    return {str(step.get("name", step.get("how", step.get("mode", "")))) for step in steps}


@given(SEEDS, SIZES)
@settings(max_examples=15)
def test_the_same_seed_makes_the_same_program(seed: int, size: int) -> None:
    program = generate(seed, size)
    assert program == generate(seed, size)
    assert program.to_json() == Program.from_json(program.to_json()).to_json()


@given(SEEDS, SIZES, st.booleans())
@settings(max_examples=30)
def test_no_program_hangs_and_every_message_finds_its_receive(
    seed: int, size: int, eager: bool
) -> None:
    program = generate(seed, size, length=80)
    for turn in range(5):
        assert rehearse(program, Random(turn), eager=eager) == ""


@given(SEEDS, SIZES, st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_a_part_of_a_program_is_a_valid_program(seed: int, size: int, dice: Random) -> None:
    program = generate(seed, size)
    units = program.units()
    part = program.without(dice.sample(units, dice.randint(0, len(units))))
    assert rehearse(part, dice, eager=False) == ""
    assert len(expected(part)) == size


def test_a_rehearsal_notices_a_hang_and_a_message_that_nobody_takes() -> None:
    program = generate(1, 2, length=0)
    send = {"op": "send", "mode": "Send", "message": "m"}
    receive = {"op": "receive", "mode": "Recv", "message": "m", "any_tag": False}
    program.messages["m"] = {"comm": "world", "source": 0, "dest": 1, "tag": 0}
    program.events[0].steps = {0: [send]}
    assert rehearse(program, Random(0), eager=False) == "ranks [0] hang"
    assert rehearse(program, Random(0), eager=True) == "nobody took [['m']]"
    program.events[0].steps = {1: [receive]}
    assert rehearse(program, Random(0), eager=True) == "ranks [1] hang"


def test_everything_that_mpi_has_occurs() -> None:
    seen = set().union(*(operations(generate(seed, 4)) for seed in range(120)))
    plain = {
        *("Send", "Ssend", "Bsend", "Rsend", "Isend", "Issend", "Ibsend", "Irsend"),
        *("send", "ssend", "bsend", "isend", "issend", "ibsend", "Send_init", "Ssend_init"),
        *("Recv", "Irecv", "Probe", "Iprobe", "Mprobe", "Improbe", "Imrecv"),
        *("each", "Waitall", "Waitany", "Waitsome", "Testall", "Testany", "Testsome"),
        *("Dup", "Idup", "Clone", "Split", "Create", "Create_group", "Create_intercomm", "Merge"),
        *("Create_cart", "Create_dist_graph_adjacent"),
    }
    collectives = {
        *("Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather"),
        *("Allgatherv", "Alltoall", "Alltoallv", "Alltoallw", "Reduce", "Allreduce"),
        *("Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan"),
        *("Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall"),
        *("Neighbor_alltoallv", "Neighbor_alltoallw"),
    }
    wanted = plain | collectives | {f"I{name.lower()}" for name in collectives}
    assert wanted - seen == set()


def test_a_failing_program_becomes_small() -> None:
    program = generate(3, 4)
    culprit = next(event.unit for event in program.events if event.unit and not event.needs)
    small = shrink(program, lambda part: culprit in part.units())
    assert small.units() == [culprit]


def test_what_needs_a_communicator_goes_with_it() -> None:
    program = generate(8, 4, length=120)
    maker, user = next(
        (event.needs[0], event.unit)
        for event in program.events
        if event.needs and event.needs[0] != event.unit
    )
    assert user not in program.without([maker]).units()


@given(st.integers(0, 1000), st.integers(0, 5))
def test_a_layout_puts_every_byte_at_a_place_of_its_own(seed: int, count: int) -> None:
    layout = draw_layout(Random(seed))
    data = np.arange(count * item_size(layout)).astype(np.uint8)
    image = memory(layout, count)
    deposit(image, 0, layout, data)
    assert len(np.unique(positions(layout, count))) == len(data)
    assert np.array_equal(image[positions(layout, count)], data)


def test_a_wrong_line_is_named_with_its_step() -> None:
    program = generate(2, 2)
    texts: list[str | None] = ["\n".join(lines) for lines in expected(program)]
    assert faults(program, texts) == []
    right = expected(program)[1][3]
    assert texts[1] is not None
    texts = [None, texts[1].replace(right, f"{right}!")]
    number = int(right.partition(" ")[0])
    assert faults(program, texts) == [
        "rank 0 did not come to its end",
        f"rank 1 saw\n    {right}!\nand not\n    {right}",
        f"in {program.events[number].unit} {program.events[number].steps[1]}",
    ]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_model_says_something_for_every_rank(size: int) -> None:
    lines = expected(generate(11, size))
    assert len(lines) == size
    assert all(lines)
