"""Making a random program from a seed."""

from __future__ import annotations

from random import Random

from tools.random_programs.draft import Draft
from tools.random_programs.gatherings import cancel, gather_from_anywhere, nothing, ready_send, ring
from tools.random_programs.operations import collective, communicator, free_communicators
from tools.random_programs.point_to_point import (
    free_channels,
    meet,
    receive_first,
    receive_sent,
    send_expected,
    send_first,
    use_channel,
)
from tools.random_programs.program import Event, Program

BUDGET = 8 << 20
"""How many bytes the messages of a program have together, about."""

ACTIONS = {
    meet: 5,
    send_first: 6,
    receive_sent: 5,
    receive_first: 5,
    send_expected: 4,
    use_channel: 2,
    ring: 2,
    gather_from_anywhere: 3,
    ready_send: 1,
    nothing: 1,
    cancel: 1,
    collective: 12,
    communicator: 2,
}
"""What can happen next, and how often it does."""


def generate(seed: int, size: int, *, length: int = 60, budget: int = BUDGET) -> Program:
    """Return the program of a seed for `size` ranks; it has about `length` events."""
    program = Program(seed, size, communicators={"world": [list(range(size))]})
    dice = Random(f"{seed} {size} {length} {budget}")
    draft = Draft(program, dice, budget)
    actions, weights = list(ACTIONS), list(ACTIONS.values())
    for _ in range(length):
        dice.choices(actions, weights)[0](draft)
        if dice.random() < 0.3:
            _complete_some(draft)
    _finish(draft)
    return program


def _complete_some(draft: Draft) -> None:
    """Let one rank wait for some of what it began."""
    ranks = [rank for rank, names in draft.requests.items() if names]
    if ranks:
        rank = draft.dice.choice(ranks)
        names = draft.requests[rank]
        draft.complete(rank, draft.dice.sample(names, draft.dice.randint(1, len(names))))


def _finish(draft: Draft) -> None:
    """Bring everything to its end."""
    while any(draft.sent.values()):
        receive_sent(draft)
    while any(draft.expected.values()):
        send_expected(draft)
    for rank, names in draft.requests.items():
        if names:
            draft.complete(rank, list(names))
    barrier = {"op": "collective", "name": "Barrier", "comm": "world", "object": False}
    ranks = range(draft.program.size)
    draft.program.events.append(Event("", {rank: [barrier] for rank in ranks}))
    free_channels(draft)
    free_communicators(draft)
