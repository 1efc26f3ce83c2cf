"""Adding messages to a draft: how they are sent and received, and in which order the ends begin."""

from __future__ import annotations

from typing import Any

from runtime.calls import BEGUN, BLOCKING, LOOK, of_kind
from tools.random_programs.draft import Channel, Draft, Waiting, Way
from tools.random_programs.layouts import draw_layout, draw_mixed_pair, item_size
from tools.random_programs.program import Step

TAGS = 4
SMALL_OBJECT = 4096  # what mpi4py's irecv receives without being told a size
BSENDS, BSEND_BYTES = 64, 1 << 16

_READY = ("Rsend", "Irsend")


def _with_buffers(*kinds: str, how: tuple[str, ...]) -> list[str]:
    found = of_kind(*kinds, how=how).values()
    return [one.name for one in found if not one.takes_objects and one.name not in _READY]


BLOCKING_SENDS = ["Send", *_with_buffers("send", how=(BLOCKING,))]
STARTED_SENDS = ["Isend", *_with_buffers("send", how=(BEGUN,))]
RECEIVES = ["Recv", *_with_buffers("receive", "probe", how=(BLOCKING, LOOK))]
"""What is drawn from: the usual calls come twice, those for ready receivers only where one is."""


def draw_way(draft: Draft, *, to_itself: bool = True) -> Way | None:
    """Choose a communicator, a sender and a receiver."""
    dice, comm = draft.dice, draft.dice.choice(draft.comms())
    groups = draft.program.communicators[comm]
    side = dice.randrange(len(groups))
    source, dest = dice.choice(groups[side]), dice.choice(groups[side - 1])
    if source == dest and not to_itself:
        return None
    return comm, source, dest


def draw_message(draft: Draft, way: Way, tag: int, *, small: bool = False) -> dict[str, Any]:
    """Choose what a message carries and how both ends see it."""
    comm, source, dest = way
    groups = draft.program.communicators[comm]
    size = min(draft.size(), SMALL_OBJECT if small else 1 << 30)
    message: dict[str, Any] = {
        "comm": comm,
        "source": next(group.index(source) for group in groups if source in group),
        "dest": next(group.index(dest) for group in groups if dest in group),
        "tag": tag,
        "seed": draft.seed(),
        "object": draft.dice.random() < 0.25,
    }
    if message["object"]:
        return message | {"size": min(size, SMALL_OBJECT)}
    layout = draw_layout(draft.dice)
    other = draw_layout(draft.dice, layout["basic"])
    if draft.dice.random() < 0.1:
        layout, other = draw_mixed_pair(draft.dice)
    items = size // item_size(layout)
    room = -(-items * item_size(layout) // item_size(other)) + draft.dice.randint(0, 2)
    return message | {
        "items": items,
        "layout": layout,
        "capacity": room,
        "receive_layout": other,
    }


def meet(draft: Draft) -> None:
    """Both ends block at the same place."""
    way = draw_way(draft, to_itself=False)
    if way is None:
        return
    tag, any_tag = draft.dice.randrange(TAGS), _may_take_any_tag(draft, way)
    waits = draft.sent[way]
    if any(one.any_tag or one.message["tag"] == tag for one in draft.expected[way]):
        return
    if waits and (any_tag or any(one.message["tag"] == tag for one in waits)):
        return
    name = draft.unit()
    message = draft.program.messages[name] = draw_message(draft, way, tag)
    send = _sending(draft, name, message, blocking=True)
    receive = _receiving(draft, name, any_tag=any_tag, blocking=True)
    draft.add(name, way[0], {way[1]: [send], way[2]: [receive]})


def send_first(draft: Draft) -> None:
    """Begin with the sending; the receive comes later."""
    way = draw_way(draft)
    if way is None:
        return
    tag = draft.dice.randrange(TAGS)
    if any(one.any_tag or one.message["tag"] == tag for one in draft.expected[way]):
        return
    name = draft.unit()
    message = draft.program.messages[name] = draw_message(draft, way, tag)
    step = _sending(draft, name, message, blocking=False)
    draft.begun[way[1]].append(step["request"])
    draft.add(name, way[0], {way[1]: [step]})
    draft.sent[way].append(Waiting(name, message))


def receive_sent(draft: Draft) -> None:
    """Receive one of the messages that are on their way."""
    ways = [way for way, messages in draft.sent.items() if messages]
    if not ways:
        return
    way = draft.dice.choice(ways)
    waits = draft.sent[way]
    chosen = draft.dice.choice(waits)
    first = next(one for one in waits if one.message["tag"] == chosen.message["tag"])
    any_tag = first is waits[0] and _may_take_any_tag(draft, way)
    waits.remove(first)
    step = _receiving(draft, first.name, any_tag=any_tag)
    _add_receive(draft, first.name, way, step)
    draft.both_have_begun(first.name)


def receive_first(draft: Draft) -> None:
    """Begin with the receive; the sending comes later."""
    way = draw_way(draft)
    if way is None:
        return
    tag, any_tag = draft.dice.randrange(TAGS), _may_take_any_tag(draft, way)
    waits = draft.sent[way]
    if waits and (any_tag or any(one.message["tag"] == tag for one in waits)):
        return
    name = draft.unit()
    message = draft.program.messages[name] = draw_message(draft, way, tag, small=True)
    step = _receiving(draft, name, any_tag=any_tag, blocking=False)
    if step["mode"] == "Imrecv":
        step["mode"] = "Irecv"
    _add_receive(draft, name, way, step)
    draft.expected[way].append(Waiting(name, message, any_tag))


def send_expected(draft: Draft) -> None:
    """Send one of the messages that are expected."""
    ways = [way for way, receives in draft.expected.items() if receives]
    if not ways:
        return
    way = draft.dice.choice(ways)
    waits = draft.expected[way]
    first = draft.dice.choice(waits)
    while (taker := _taker_of(first.message, waits)) is not first:
        first = taker
    waits.remove(first)
    step = _sending(draft, first.name, first.message)
    if "request" in step:
        draft.begun[way[1]].append(step["request"])
    draft.add(first.name, way[0], {way[1]: [step]})
    draft.both_have_begun(first.name)


def _taker_of(message: dict[str, Any], waits: list[Waiting]) -> Waiting:
    """Return the first of the pending receives, in their order, that fits a message."""
    return next(one for one in waits if one.any_tag or one.message["tag"] == message["tag"])


def use_channel(draft: Draft) -> None:
    """Send a message with persistent requests, made now or before; one end begins."""
    way = draw_way(draft, to_itself=False)
    if way is None or draft.would_be_stolen(way):
        return
    free = [one for one in draft.channels[way] if not one.busy]
    channel = draft.dice.choice(free) if free else _new_channel(draft, way)
    channel.used += 1
    name = f"{channel.name}:{channel.used}"
    message = {**channel.message, "seed": draft.seed()}
    draft.program.messages[name] = message
    unit = f"{channel.name}.{channel.used}"
    ends = ["send", "receive"]
    draft.dice.shuffle(ends)
    for end in ends:
        rank = way[1] if end == "send" else way[2]
        request = f"{unit}:{end}"
        step: Step = {"op": "start", "channel": f"{channel.name}:{end}", "end": end}
        step |= {"message": name, "request": request, "together": draft.dice.random() < 0.3}
        draft.add(unit, way[0], {rank: [step]}, channel.name)
        draft.requests[rank].append(request)
        channel.busy.add(request)


def _new_channel(draft: Draft, way: Way) -> Channel:
    name = draft.unit()
    message = draw_message(draft, way, draft.own_tag())
    while message["object"]:
        message = draw_message(draft, way, message["tag"])
    draft.program.messages[name] = message
    steps: dict[int, list[Step]] = {}
    for end, rank in (("send", way[1]), ("receive", way[2])):
        mode = draft.dice.choice(["Send_init", "Ssend_init"])
        step: Step = {"op": "persistent", "channel": f"{name}:{end}", "end": end}
        steps[rank] = [step | {"mode": mode, "message": name}]
    draft.add(name, way[0], steps)
    draft.channels[way].append(Channel(name, message))
    return draft.channels[way][-1]


def free_channels(draft: Draft) -> None:
    """Free all persistent requests; they have to be complete."""
    for way, channels in draft.channels.items():
        for channel in channels:
            steps: dict[int, list[Step]] = {
                rank: [{"op": "free", "channel": f"{channel.name}:{end}"}]
                for end, rank in (("send", way[1]), ("receive", way[2]))
            }
            draft.add(channel.name, way[0], steps)


def _may_take_any_tag(draft: Draft, way: Way) -> bool:
    """Tell whether a receive names no tag, which one from itself always does.

    In MPICH 5.0.2 a pending receive from itself with any tag takes what a collective operation on
    the same communicator sends to itself.
    """
    return way[1] != way[2] and draft.dice.random() < 0.25


def _add_receive(draft: Draft, name: str, way: Way, step: Step) -> None:
    if "request" in step:
        draft.begun[way[2]].append(step["request"])
    draft.add(name, way[0], {way[2]: [step]})


def _sending(
    draft: Draft, name: str, message: dict[str, Any], *, blocking: bool | None = None
) -> Step:
    if blocking is None:
        blocking = draft.dice.random() < 0.5
    mode = draft.dice.choice(BLOCKING_SENDS if blocking else STARTED_SENDS)
    if "bsend" in mode.lower():
        draft.bsends += 1
        size = message.get("size", 0) or message.get("items", 0) * 64
        if draft.bsends > BSENDS or size > BSEND_BYTES or _is_packed_for_itself(message):
            mode = "Send" if blocking else "Isend"
    step: Step = {"op": "send", "mode": mode.lower() if message["object"] else mode}
    step["message"] = name
    return step if blocking else step | {"request": f"{name}:send"}


def _is_packed_for_itself(message: dict[str, Any]) -> bool:
    """Tell whether a structure is sent to oneself, which is not done out of a buffer.

    MPICH 5.0.2 packs what it buffers, and on the way to itself compares a packed message with the
    members of what receives it: ERR_TYPE.
    """
    is_mixed = message.get("receive_layout", {}).get("shape") == "struct"
    return bool(is_mixed and message["source"] == message["dest"])


def _receiving(
    draft: Draft,
    name: str,
    *,
    any_tag: bool,
    blocking: bool | None = None,
) -> Step:
    if blocking is None:
        blocking = draft.dice.random() < 0.5
    step: Step = {"op": "receive", "message": name, "any_tag": any_tag, "any_source": False}
    if blocking:
        return step | {"mode": draft.dice.choice(RECEIVES)}
    mode = "Imrecv" if draft.dice.random() < 0.2 else "Irecv"
    return step | {"mode": mode, "request": f"{name}:receive"}
