"""The key below a picture: only the shapes and kinds that the picture uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gcm.drawing import metrics
from gcm.drawing.geometry import PlacedBox
from gcm.drawing.metrics import text_width
from gcm.drawing.scene import ScenePort
from gcm.records import dataclass

SAMPLE = 26
GAP = 18
ROW = 20

_PORT_KEYS = (
    (ScenePort("", "server"), "server interface"),
    (ScenePort("", "client"), "client interface"),
    (ScenePort("", "client", "multicast"), "multicast"),
    (ScenePort("", "server", "gathercast"), "gathercast"),
    (ScenePort("", "client", "collection"), "collection"),
    (ScenePort("", "client", optional=True), "optional"),
    (ScenePort("", "server", control=True), "control interface"),
)


@dataclass(frozen=True, slots=True)
class Key:
    """One entry: its text and a sample, which is a port or the style class of a box."""

    text: str
    sample: ScenePort | str
    x: int
    y: int


def legend(root: PlacedBox, *, width: int) -> tuple[list[Key], int]:
    """Return the entries in rows of about `width`, and the height of all rows."""
    keys: list[Key] = []
    x = y = 0
    for text, sample in _entries(list(_all(root))):
        needs = SAMPLE + text_width(text, metrics.LABEL_SIZE) + GAP
        if x and x + needs > width:
            x, y = 0, y + ROW
        keys.append(Key(text, sample, x, y))
        x += needs
    return keys, y + ROW if keys else 0


def _all(root: PlacedBox) -> Iterator[PlacedBox]:
    waiting = [root]
    while waiting:
        placed = waiting.pop()
        yield placed
        waiting += placed.inside


def _entries(boxes: Iterable[PlacedBox]) -> Iterator[tuple[str, ScenePort | str]]:
    boxes = list(boxes)
    ports = {_plain(placed.port) for placed_box in boxes for placed in placed_box.ports}
    for sample, text in _PORT_KEYS:
        if any(_shows(port, sample) for port in ports):
            yield text, sample
    kinds = {placed.box.kind for placed in boxes}
    yield from (
        (kind, kind) for kind in ("active", "wrapper", "clustering", "controller") if kind in kinds
    )
    if any(placed.box.shared for placed in boxes):
        yield "shared component", "primitive shared"
    if any(placed.membrane for placed in boxes):
        yield "membrane", "primitive membrane"
    if any(port.interceptors for placed in boxes for port in placed.box.ports):
        yield "◆ interceptors", ""


def _plain(port: ScenePort) -> ScenePort:
    role = "server" if port.on_left else "client"
    return ScenePort("", role, port.cardinality, port.optional, port.is_control)


def _shows(port: ScenePort, sample: ScenePort) -> bool:
    if sample.control or sample.optional:
        return port.control if sample.control else port.optional
    if sample.cardinality != "singleton":
        return port.cardinality == sample.cardinality
    return port.role == sample.role and not port.control
