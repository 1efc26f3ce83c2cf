"""Descriptors of the middleware that came before, written again as ours. Pure: no file is read.

Three languages: applications (`urn:gcm:application:1.0`), the resources that these name
(`urn:gcm:deployment:1.0`), and the older `<ProActiveDescriptor>`, which has both in one file.
"""

from runtime.deployment.legacy.converting import Converted, Load, Loss, convert

__all__ = ["Converted", "Load", "Loss", "convert"]
