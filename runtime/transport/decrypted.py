"""Which connections hold decrypted bytes of which the system knows nothing. Imports nothing."""

from __future__ import annotations

DECRYPTED: set[int] = set()
"""Descriptors whose bytes were taken from the system and not asked for yet.

Whoever waits for descriptors has to take these for readable: the system does not know of the rest
of a decrypted record. Sets are changed and compared in one step, so any thread may do so.
"""
