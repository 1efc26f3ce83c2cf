"""The entry point of the package: draws a scene."""

from __future__ import annotations

from gcm.drawing.folding import folded
from gcm.drawing.placing import place
from gcm.drawing.scene import Scene, SceneError, faults_of
from gcm.drawing.svg import svg


def draw(scene: Scene, *, title: str = "", controls: bool = False, fold: bool = True) -> str:
    """Return the scene as an SVG document; the same scene always gives the same text.

    A notebook shows it as a picture.
    `title` becomes the heading. Control interfaces, and the bindings that touch them, are left out
    unless `controls` is set. Components that are alike, and bound alike, are folded into one box
    with their number and the range of their names, unless `fold` is false.

    Raises:
        SceneError: the scene contradicts itself; all its faults are listed.
    """
    faults = list(faults_of(scene))
    if faults:
        raise SceneError(faults)
    root = folded(scene.root) if fold else scene.root
    return svg(place(root, controls=controls), title=title)
