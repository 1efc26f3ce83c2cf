"""One value at all ranks of all codes: who has it from whom. Pure but for the messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.coupling.mailbox import CouplingMailbox
    from runtime.coupling.peers import Peer


def broadcast(mailbox: CouplingMailbox, value: Any, code: str, rank: int) -> Any:
    """Return the value that a rank of a code has; all ranks of all codes call it.

    Raises as `send` and `receive` of the mailbox.
    """
    directory, root = mailbox.peers.directory, (code, rank)
    directory.check(code, rank)
    sizes = {name: directory.sizes[name] for name in directory.codes if directory.sizes[name]}
    parent, children = relations(mailbox.peers.me, root, sizes)
    tag = "bcast", f"from rank {rank} of {code}", 0
    if parent is not None:
        value = mailbox.receive(*parent, tag).value
    for child in children:
        mailbox.send(value, *child, tag)
    return value


def relations(me: Peer, root: Peer, sizes: Mapping[str, int]) -> tuple[Peer | None, list[Peer]]:
    """Return from whom a rank has the value, and to whom it sends it.

    The value goes to one rank of each other code first, and from there on inside the code: a slow
    line between two codes carries it once.

    >>> sizes = {"ocean": 3, "air": 2}
    >>> relations(("ocean", 1), ("ocean", 1), sizes)
    (None, [('air', 0), ('ocean', 0), ('ocean', 2)])
    >>> relations(("air", 0), ("ocean", 1), sizes)
    (('ocean', 1), [('air', 1)])
    """
    code, rank = me
    size = sizes[code]
    head = root[1] if code == root[0] else 0
    number = (rank - head) % size
    children: list[Peer] = []
    if me == root:
        children += [(other, 0) for other in sizes if other != code]
    step = 1
    while step < size and not number & step:
        step *= 2
    parent: Peer | None = (code, (rank - step) % size) if number else None
    if parent is None and me != root:
        parent = root
    while step > 1:
        step //= 2
        if number + step < size:
            children.append((code, (rank + step) % size))
    return parent, children
