"""A Fractal/GCM component framework: components, membranes, interfaces and an XML language."""

from gcm.interfaces import interface as _interface  # noqa: F401 - breaks the import cycle first
