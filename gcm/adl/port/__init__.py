"""Porting: Python skeletons for missing classes that documents name."""

from gcm.adl.port.port import Ported, port_files

__all__ = ["Ported", "port_files"]
