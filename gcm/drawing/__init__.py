"""Pictures of assemblies as SVG, drawn without any external program.

>>> from gcm.drawing import Box, Scene, draw
>>> draw(Scene(Box("hello")))[:4]
'<svg'
"""

from gcm.drawing.picture import draw
from gcm.drawing.scene import Box, Link, Port, Scene, SceneError

__all__ = ["Box", "Link", "Port", "Scene", "SceneError", "draw"]
