"""`gcm-deploy convert`: writes a descriptor of the middleware before as one of ours."""

from __future__ import annotations

import argparse
import os
import sys

from gcm.cli.common_options import Option
from gcm.documents import Diagnostics, XmlNode, read_document
from runtime.cli.errors import UsageError
from runtime.cli.line.options import deploy_command
from runtime.cli.streams import write
from runtime.exit_codes import FAULTS
from runtime.shown_text import shown_lines

_MORE = """\
The older languages are urn:gcm:application:1.0 with the files of resources that it names,
urn:gcm:deployment:1.0, and <ProActiveDescriptor>. What has no counterpart is named with its
line."""


@deploy_command(
    Option("descriptor", metavar="FILE", help="the old descriptor"),
    Option("-o", "--output", metavar="FILE", help="the new file; by default the standard output"),
    more=_MORE,
)  # fmt: skip
def convert(found: argparse.Namespace) -> int:
    """Convert a file, tell what has no counterpart, and return the exit code.

    Raises:
        UsageError: the file is no old descriptor.
        OutputFailed: the new file exists already, or cannot be written.
    """
    from runtime.cli.write import save
    from runtime.deployment import legacy

    diagnostics = Diagnostics()
    root = read_document(found.descriptor, diagnostics=diagnostics)

    def load(path: str) -> XmlNode | None:
        beside = os.path.join(os.path.dirname(found.descriptor), path)
        return read_document(beside, diagnostics=Diagnostics()) if os.path.isfile(beside) else None

    if root is None:
        for one in diagnostics.errors:
            print(f"gcm-deploy: {shown_lines(str(one))}", file=sys.stderr)
        return FAULTS
    try:
        made = legacy.convert(root, load)
    except ValueError as fault:
        raise UsageError(
            f"{found.descriptor}: {fault}", cure="gcm check FILE reads our own descriptors"
        ) from fault
    if found.output:
        save(made.text, found.output)
    else:
        write(made.text)
    for loss in made.losses:
        print(shown_lines(f"{loss.location}: {loss.what}"), file=sys.stderr)
    return 0
