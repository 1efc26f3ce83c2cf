"""The one function of the package: a scene in, a picture out."""

from __future__ import annotations

from gcm.drawing.placing import place
from gcm.drawing.scene import Scene, SceneError, faults_of
from gcm.drawing.svg import svg


def draw(scene: Scene, *, title: str = "", controls: bool = False) -> str:
    """Return the scene as an SVG document; the same scene always gives the same text.

    `title` becomes the heading. Control interfaces, and the bindings that touch them, are left
    out unless `controls` is set.

    Raises:
        SceneError: the scene contradicts itself; all its faults are listed.
    """
    faults = list(faults_of(scene))
    if faults:
        raise SceneError(faults)
    return svg(place(scene.root, controls=controls), title=title)
