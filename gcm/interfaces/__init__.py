"""Interfaces: their types, signatures, stubs, and collective calls."""

from gcm.interfaces.annotations import describe
from gcm.interfaces.collective.gathering import AS_USUAL, RoundSettings, WhenLeft
from gcm.interfaces.compatibility import content_mismatches, cure_for, mismatches
from gcm.interfaces.distribution import redistributes
from gcm.interfaces.hints import split_annotated
from gcm.interfaces.signature import Operation, SignatureError, signature_of
from gcm.interfaces.types import Cardinality, ComponentType, Contingency, InterfaceType, Role

__all__ = [
    "AS_USUAL",
    "Cardinality",
    "ComponentType",
    "Contingency",
    "InterfaceType",
    "Operation",
    "Role",
    "RoundSettings",
    "SignatureError",
    "WhenLeft",
    "content_mismatches",
    "cure_for",
    "describe",
    "mismatches",
    "redistributes",
    "signature_of",
    "split_annotated",
]
