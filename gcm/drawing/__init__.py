"""Pictures of assemblies as SVG or PNG, drawn without any external program.

>>> from gcm.drawing import Box, Scene, draw
>>> draw(Scene(Box("hello")))[:4]
'<svg'
"""

from gcm.drawing.output import Colours, OutputError, check_ending, write_picture
from gcm.drawing.picture import draw
from gcm.drawing.scene import Box, Scene, SceneError, SceneLink, ScenePort

__all__ = [
    "Box",
    "Colours",
    "OutputError",
    "Scene",
    "SceneError",
    "SceneLink",
    "ScenePort",
    "check_ending",
    "draw",
    "write_picture",
]
