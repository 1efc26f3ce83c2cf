"""Adding collective operations and new communicators to a draft."""

from __future__ import annotations

from math import lcm, prod

from runtime.calls import COLLECTIVES, of_kind
from tools.random_programs.draft import Draft
from tools.random_programs.exchanges import EXCHANGES, NEIGHBOURLY, NOBODY
from tools.random_programs.layouts import draw_layout, extent
from tools.random_programs.program import Step
from tools.random_programs.reductions import (
    AFFINE,
    FOLDS,
    INTEGERS,
    MODULAR,
    NUMPY_TYPES,
    REDUCTIONS,
)

WITH_OBJECTS = tuple(
    name
    for name, one in COLLECTIVES.items()
    if not one.takes_objects and one.of != "Topocomm" and name.lower() in COLLECTIVES
)
COPIES = tuple(
    name
    for name, one in of_kind("copy").items()
    if all(argument.default is not None for argument in one.arguments)
)
ONLY_INTEGERS = ("BAND", "BOR", "BXOR", "LAND", "LOR", "LXOR")
OBJECT_OPERATIONS = ["SUM", "MAX", "MIN", "MAXLOC", "MINLOC"]
MANY_COMMUNICATORS = 8


def collective(draft: Draft) -> None:
    """All processes of a communicator do one operation; it may be waited for later."""
    dice, comm = draft.dice, draft.dice.choice(draft.comms())
    groups = draft.program.communicators[comm]
    is_inter = len(groups) > 1
    names = ["Barrier", *EXCHANGES, *EXCHANGES, *REDUCTIONS, *REDUCTIONS]
    name = dice.choice([one for one in names if not is_inter or "can" not in one])
    neighbours = draft.neighbours.get(comm)
    if neighbours and dice.random() < 0.7:
        name = dice.choice(NEIGHBOURLY)
    side = dice.randrange(len(groups))
    step: Step = {"op": "collective", "name": name, "comm": comm, "seed": draft.seed()}
    step |= {"root_side": side, "root": dice.randrange(len(groups[side]))}
    can_be_in_place = not is_inter and name != "Bcast" and name not in NEIGHBOURLY
    step |= {"in_place": can_be_in_place and dice.random() < 0.2}
    if name in NEIGHBOURLY and neighbours:
        step |= neighbours
    step["object"] = name in WITH_OBJECTS and dice.random() < 0.25
    step["in_place"] = step["in_place"] and not step["object"]
    step |= _of_reduction(draft, step) if name in REDUCTIONS else _of_exchange(draft, step)
    unit = draft.unit()
    # In MPICH 5.0.2 Ibcast hangs or brings nothing where the root is in the other group and not 0.
    can_start = not step["object"] and not (is_inter and name == "Bcast" and step["root"])
    if can_start and dice.random() < 0.4:
        step |= {"name": f"I{name.lower()}", "request": f"{unit}:all"}
    ranks = draft.members(comm)
    draft.add(unit, comm, {rank: [step] for rank in ranks})
    if "request" in step:
        for rank in ranks:
            draft.requests[rank].append(step["request"])


def _of_exchange(draft: Draft, step: Step) -> Step:
    kinds = 3 if step["name"] == "Alltoallw" else 1
    layouts = [draw_layout(draft.dice) for _ in range(kinds)]
    size = draft.size()
    most = max(len(group) for group in draft.program.communicators[step["comm"]])
    if step["object"]:
        return {"count": min(size, 4096)}
    if "all" in step["name"].lower():
        size //= most
    return {"count": size // max(extent(layout) for layout in layouts), "layouts": layouts}


def _of_reduction(draft: Draft, step: Step) -> Step:
    dice = draft.dice
    if step["object"]:
        return {"operation": dice.choice(OBJECT_OPERATIONS), "count": 1}
    operation = dice.choice(list(FOLDS))
    basics = INTEGERS if operation in ONLY_INTEGERS else list(NUMPY_TYPES)
    if operation in ("MAXLOC", "MINLOC"):
        basics = ["INT32_T"]
    elif operation in (AFFINE, MODULAR):
        basics = ["UINT32_T"] if operation == AFFINE else ["INT32_T", "INT64_T"]
    count = draft.size() // 8
    if step["name"] == "Reduce_scatter_block":
        unit = lcm(*(len(group) for group in draft.program.communicators[step["comm"]]))
        count = count // unit * unit
    return {"operation": operation, "basic": dice.choice(basics), "count": count}


def communicator(draft: Draft) -> None:
    """Make a new communicator from one there is."""
    if len(draft.comms()) >= MANY_COMMUNICATORS:
        return
    inters = draft.comms("inter")
    if inters and draft.dice.random() < 0.3:
        _from_two_groups(draft, draft.dice.choice(inters))
        return
    parent = draft.dice.choice(draft.comms("intra"))
    draft.dice.choice([_duplicate, _split, _choose, _two_groups, _cartesian, _graph])(draft, parent)


def _added(
    draft: Draft,
    unit: str,
    parent: str,
    steps: dict[int, list[Step]],
    made: dict[str, list[list[int]]],
) -> None:
    draft.add(unit, parent, steps)
    draft.program.communicators |= made
    draft.made_by |= dict.fromkeys(made, unit)


def _duplicate(draft: Draft, parent: str) -> None:
    unit = draft.unit()
    how = draft.dice.choice(COPIES)
    step: Step = {"op": "communicator", "how": how, "parent": parent, "names": [unit]}
    groups = draft.program.communicators[parent]
    steps = {rank: [step] for rank in draft.members(parent)}
    _added(draft, unit, parent, steps, {unit: groups})


def _split(draft: Draft, parent: str) -> None:
    dice, unit, members = draft.dice, draft.unit(), draft.members(parent)
    steps: dict[int, list[Step]] = {}
    made: dict[str, list[tuple[int, int]]] = {}
    for place, rank in enumerate(members):
        color = dice.choice([None, 0, 0, 1, 1, 1])
        name, key = f"{unit}:{color}", dice.randint(0, 3)
        step: Step = {"op": "communicator", "how": "Split", "parent": parent}
        step |= {"color": color, "key": key, "names": [] if color is None else [name]}
        steps[rank] = [step]
        if color is not None:
            made.setdefault(name, []).append((key, place))
    groups = {name: [[members[place] for _, place in sorted(made[name])]] for name in made}
    _added(draft, unit, parent, steps, groups)


def _choose(draft: Draft, parent: str) -> None:
    dice, unit, members = draft.dice, draft.unit(), draft.members(parent)
    ranks = dice.sample(range(len(members)), dice.randint(1, len(members)))
    how = dice.choice(["Create", "Create_group"])
    chosen = [members[rank] for rank in ranks]
    step: Step = {"op": "communicator", "how": how, "parent": parent, "ranks": ranks}
    steps: dict[int, list[Step]] = {rank: [step | {"names": [unit]}] for rank in chosen}
    if how == "Create":
        for rank in members:
            steps.setdefault(rank, [step | {"names": []}])
    _added(draft, unit, parent, steps, {unit: [chosen]})


def _two_groups(draft: Draft, parent: str) -> None:
    """Split a communicator in two, and join both parts by an intercommunicator."""
    members = draft.members(parent)
    if len(members) < 2:
        return
    unit, tag = draft.unit(), draft.own_tag()
    mixed = draft.dice.sample(range(len(members)), len(members))
    border = draft.dice.randint(1, len(members) - 1)
    sides = [sorted(mixed[:border]), sorted(mixed[border:])]
    steps: dict[int, list[Step]] = {}
    for side, ranks in enumerate(sides):
        local = f"{unit}:{side}"
        split: Step = {"op": "communicator", "how": "Split", "parent": parent, "color": side}
        split |= {"key": 0, "names": [local]}
        join: Step = {"op": "communicator", "how": "Create_intercomm", "parent": parent}
        join |= {"local": local, "leader": sides[1 - side][0], "tag": tag, "names": [f"{unit}:x"]}
        for rank in ranks:
            steps[members[rank]] = [split, join]
    groups = [[members[rank] for rank in ranks] for ranks in sides]
    made = {f"{unit}:0": [groups[0]], f"{unit}:1": [groups[1]], f"{unit}:x": groups}
    _added(draft, unit, parent, steps, made)


def _cartesian(draft: Draft, parent: str) -> None:
    """Arrange processes in a grid; a direction that closes has at least three, so that no process
    is a neighbour twice.
    """
    dice, unit, members = draft.dice, draft.unit(), draft.members(parent)
    rows = dice.randint(1, len(members))
    dims = [rows, len(members) // rows] if dice.random() < 0.6 else [len(members)]
    periods = [length > 2 and dice.random() < 0.5 for length in dims]
    chosen = members[: prod(dims)]
    step: Step = {"op": "communicator", "how": "Create_cart", "parent": parent}
    step |= {"dims": dims, "periods": periods}
    steps: dict[int, list[Step]] = {
        rank: [step | {"names": [unit] if rank in chosen else []}] for rank in members
    }
    near = [_cartesian_neighbours(place, dims, periods) for place in range(len(chosen))]
    draft.neighbours[unit] = {"sources": near, "destinations": near}
    _added(draft, unit, parent, steps, {unit: [chosen]})


def _cartesian_neighbours(place: int, dims: list[int], periods: list[bool]) -> list[int]:
    """Return the ranks before and after a place, direction by direction; the last runs first."""
    found, stride = [], prod(dims)
    for length, closes in zip(dims, periods, strict=True):
        stride //= length
        at = place // stride % length
        for other in (at - 1, at + 1):
            inside = closes or 0 <= other < length
            found.append(place + (other % length - at) * stride if inside else NOBODY)
    return found


def _graph(draft: Draft, parent: str) -> None:
    """Draw arrows between processes at random, at least one to and from each."""
    dice, unit, members = draft.dice, draft.unit(), draft.members(parent)
    size = len(members)
    arrows = {(rank, (rank + 1) % size) for rank in range(size)}
    arrows |= {(dice.randrange(size), dice.randrange(size)) for _ in range(size)}
    mixed = dice.sample(sorted(arrows), len(arrows))
    sources = [[start for start, end in mixed if end == rank] for rank in range(size)]
    mixed.reverse()
    destinations = [[end for start, end in mixed if start == rank] for rank in range(size)]
    step: Step = {"op": "communicator", "how": "Create_dist_graph_adjacent", "parent": parent}
    step |= {"names": [unit]}
    steps: dict[int, list[Step]] = {
        rank: [step | {"sources": sources[place], "destinations": destinations[place]}]
        for place, rank in enumerate(members)
    }
    draft.neighbours[unit] = {"sources": sources, "destinations": destinations}
    _added(draft, unit, parent, steps, {unit: [list(members)]})


def _from_two_groups(draft: Draft, parent: str) -> None:
    """Merge or duplicate an intercommunicator."""
    if draft.dice.random() < 0.4:
        _duplicate(draft, parent)
        return
    unit, groups = draft.unit(), draft.program.communicators[parent]
    high = draft.dice.randrange(2)
    step: Step = {"op": "communicator", "how": "Merge", "parent": parent, "names": [unit]}
    steps: dict[int, list[Step]] = {
        rank: [step | {"high": side == high}] for side in range(2) for rank in groups[side]
    }
    _added(draft, unit, parent, steps, {unit: [[*groups[1 - high], *groups[high]]]})


def free_communicators(draft: Draft) -> None:
    """Free all communicators but the first."""
    for name in reversed(draft.comms()):
        if name != "world":
            step: Step = {"op": "free", "comm": name}
            draft.add(draft.made_by[name], name, {rank: [step] for rank in draft.members(name)})
