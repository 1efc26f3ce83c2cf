"""Writing: from live assemblies and from values to ADL documents."""

from gcm.adl.writing.describe import Homes, describe, export, parts_of
from gcm.adl.writing.export import write_definition
from gcm.adl.writing.naming import NamelessError, membrane_name
from gcm.adl.writing.wires import THIS, wires_of
from gcm.adl.writing.wording import text_of

__all__ = [
    "THIS",
    "Homes",
    "NamelessError",
    "describe",
    "export",
    "membrane_name",
    "parts_of",
    "text_of",
    "wires_of",
    "write_definition",
]
