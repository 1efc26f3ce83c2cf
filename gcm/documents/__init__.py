"""Hardened reading of XML documents into located nodes, and the diagnostics about them."""

from gcm.documents.checking import DocumentCheck
from gcm.documents.diagnostics import Diagnostic, Diagnostics, Severity
from gcm.documents.durations import DURATION_HINT, DURATION_PATTERN, is_duration, seconds_of
from gcm.documents.encoding import decode_document
from gcm.documents.foreign import ForeignDocument, foreign_document, local_name
from gcm.documents.language import (
    FILLED,
    TEXT,
    Attribute,
    CheckedElement,
    ChildRule,
    ElementType,
    Grammar,
    ValueFault,
    ValueKind,
)
from gcm.documents.location import Location
from gcm.documents.reader import Limits, XmlNode, read_document
from gcm.suggestion import did_you_mean

__all__ = [
    "DURATION_HINT",
    "DURATION_PATTERN",
    "FILLED",
    "TEXT",
    "Attribute",
    "CheckedElement",
    "ChildRule",
    "Diagnostic",
    "Diagnostics",
    "DocumentCheck",
    "ElementType",
    "ForeignDocument",
    "Grammar",
    "Limits",
    "Location",
    "Severity",
    "ValueFault",
    "ValueKind",
    "XmlNode",
    "decode_document",
    "did_you_mean",
    "foreign_document",
    "is_duration",
    "local_name",
    "read_document",
    "seconds_of",
]
