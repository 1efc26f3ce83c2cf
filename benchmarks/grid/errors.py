"""What goes wrong with an emulated grid."""

from __future__ import annotations


class EmulationError(Exception):
    """The grid cannot be set up or changed; the message says why and what helps."""
