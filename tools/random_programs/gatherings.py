"""Adding what several processes do together by messages: rings, gatherings, and oddities."""

from __future__ import annotations

from typing import Any

from tools.random_programs.draft import Draft
from tools.random_programs.layouts import item_size, plain
from tools.random_programs.point_to_point import draw_message, draw_way
from tools.random_programs.program import Step


def ring(draft: Draft) -> None:
    """Some processes send to the next and receive from the one before, all at once."""
    dice, comm = draft.dice, draft.dice.choice(draft.comms("intra"))
    group = draft.members(comm)
    chosen = dice.sample(group, dice.randint(1, len(group)))
    tag, name, replace = draft.own_tag(), draft.unit(), dice.random() < 0.4
    ways = [(comm, one, chosen[place - 1]) for place, one in enumerate(chosen)]
    if any(draft.would_be_stolen(way) for way in ways):
        return
    first = draw_message(draft, ways[0], tag)
    for way in ways:
        message = {**first, "seed": draft.seed()}
        message |= {"source": group.index(way[1]), "dest": group.index(way[2])}
        if not message["object"]:
            message |= {"receive_layout": message["layout"], "capacity": message["items"]}
        draft.program.messages[f"{name}:{way[1]}"] = message
    steps: dict[int, list[Step]] = {}
    for place, one in enumerate(chosen):
        before = chosen[(place + 1) % len(chosen)]
        step: Step = {"op": "sendrecv", "replace": replace, "send": f"{name}:{one}"}
        steps[one] = [step | {"receive": f"{name}:{before}"}]
    draft.add(name, comm, steps)


def gather_from_anywhere(draft: Draft) -> None:
    """One process receives from any source what several send it; who comes first is open."""
    dice, comm = draft.dice, draft.dice.choice(draft.comms())
    groups = draft.program.communicators[comm]
    side = dice.randrange(len(groups))
    dest = dice.choice(groups[side - 1])
    ways = [(comm, source, dest) for source in groups[side] if source != dest]
    if not ways or any(draft.would_be_stolen(way) for way in ways):
        return
    any_tag = _is_quiet(draft, comm) and dice.random() < 0.5
    name = draft.unit()
    prototype = draw_message(draft, ways[0], draft.own_tag())
    mode = "Recv" if prototype["object"] else dice.choice(["Recv", "Irecv", "Mprobe"])
    steps: dict[int, list[Step]] = {}
    for _, source, _ in ways:
        number = dice.randint(0, 2)
        sends = [_sending(draft, f"{name}:{source}.{i}", prototype, source) for i in range(number)]
        if sends:
            steps[source] = sends
    names = [step["message"] for sends in steps.values() for step in sends]
    if not names:
        return
    steps[dest] = [{"op": "receive_any", "messages": names, "mode": mode, "any_tag": any_tag}]
    if any_tag:
        barrier: Step = {"op": "collective", "name": "Barrier", "comm": comm, "object": False}
        for rank in draft.members(comm):
            steps[rank] = [*steps.get(rank, []), barrier]
    draft.add(name, comm, steps)


def _sending(draft: Draft, name: str, prototype: dict[str, Any], source: int) -> Step:
    """Return the step that sends a message like the prototype, but of any size it has room for."""
    side = next(
        group for group in draft.program.communicators[prototype["comm"]] if source in group
    )
    message = {**prototype, "seed": draft.seed(), "source": side.index(source)}
    mode = draft.dice.choice(["Send", "Ssend"])
    if message["object"]:
        mode = mode.lower()
    else:
        room = prototype["items"] * item_size(prototype["layout"])
        message |= {"layout": plain("BYTE"), "receive_layout": plain("BYTE")}
        message |= {"items": draft.dice.randint(0, room), "capacity": room}
    draft.program.messages[name] = message
    return {"op": "send", "mode": mode, "message": name}


def _is_quiet(draft: Draft, comm: str) -> bool:
    """Tell whether no message and no operation is on its way in a communicator."""
    ways = [*draft.sent.items(), *draft.expected.items()]
    busy = any(name.endswith(":all") for names in draft.requests.values() for name in names)
    return not busy and not any(waits for way, waits in ways if way[0] == comm)


def ready_send(draft: Draft) -> None:
    """Send in ready mode: the receiver says first that its receive is posted."""
    way = draw_way(draft, to_itself=False)
    if way is None or draft.would_be_stolen(way) or draft.would_be_stolen((way[0], way[2], way[1])):
        return
    name = draft.unit()
    message = draw_message(draft, way, draft.own_tag())
    while message["object"]:
        message = draw_message(draft, way, message["tag"])
    token = {**message, "source": message["dest"], "dest": message["source"]}
    token |= {"layout": plain("BYTE"), "receive_layout": plain("BYTE"), "items": 0, "capacity": 0}
    draft.program.messages |= {name: message, f"{name}:token": token}
    started = draft.dice.random() < 0.5
    send: Step = {"op": "send", "mode": "Irsend" if started else "Rsend", "message": name}
    sends: list[Step] = [{"op": "receive", "mode": "Recv", "message": f"{name}:token"}]
    sends[0] |= {"any_tag": False, "any_source": False}
    sends.append(send | {"request": f"{name}:send"} if started else send)
    if started:
        sends.append({"op": "complete", "how": "each", "requests": [f"{name}:send"]})
    receives: list[Step] = [
        {"op": "receive", "mode": "Irecv", "message": name, "request": f"{name}:receive"},
        {"op": "send", "mode": "Send", "message": f"{name}:token"},
        {"op": "complete", "how": "each", "requests": [f"{name}:receive"]},
    ]
    receives[0] |= {"any_tag": False, "any_source": False}
    draft.add(name, way[0], {way[1]: sends, way[2]: receives})


def nothing(draft: Draft) -> None:
    """Send to nobody and receive from nobody."""
    comm = draft.dice.choice(draft.comms("intra"))
    rank = draft.dice.choice(draft.members(comm))
    draft.add(draft.unit(), comm, {rank: [{"op": "nothing", "comm": comm}]})


def cancel(draft: Draft) -> None:
    """Post a receive that nothing fits, and take it back."""
    way = draw_way(draft)
    if way is None:
        return
    comm, source, dest = way
    side = next(group for group in draft.program.communicators[comm] if source in group)
    step: Step = {"op": "cancel", "comm": comm, "source": side.index(source)}
    draft.add(draft.unit(), comm, {dest: [step | {"tag": draft.own_tag()}]})
