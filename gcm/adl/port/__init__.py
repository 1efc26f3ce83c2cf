"""Porting: Python skeletons for the classes that documents name and that are not there."""

from gcm.adl.port.port import Ported, port_files

__all__ = ["Ported", "port_files"]
