"""Descriptors of the middleware that came before, written again as ours. Pure: no file is read.

Three languages: applications (`urn:gcm:application:1.0`), the resources that these name
(`urn:gcm:deployment:1.0`), and the older `<ProActiveDescriptor>`, which has both in one file.
"""

from gcm.documents import XmlNode
from runtime.deployment.legacy.converting import Conversion, Converted, Load, Loss, local
from runtime.deployment.legacy.gcm_descriptors import application, resources_alone
from runtime.deployment.legacy.proactive_descriptor import whole

__all__ = ["Converted", "Load", "Loss", "convert"]

_LANGUAGES = {
    "GCMApplication": application,
    "GCMDeployment": resources_alone,
    "ProActiveDescriptor": whole,
}
"""What converts a document, by the name of its root."""


def convert(root: XmlNode, load: Load) -> Converted:
    """Return an old descriptor in our language; raises ValueError for another document.

    Every element, attribute and text of it is in the text that is made, or in what it lacks.
    """
    if local(root) not in _LANGUAGES:
        raise ValueError(f"<{root.tag}> is none of {', '.join(_LANGUAGES)}")
    conversion = Conversion(root, load)
    made = _LANGUAGES[local(root)](conversion.read(root), conversion)
    return Converted("\n".join(made.lines()) + "\n", tuple(conversion.losses()))
