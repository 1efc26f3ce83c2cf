"""The commands of `gcm`: a row for each."""

from __future__ import annotations

from gcm.cli.command_table import CommandRow

COMMANDS = (
    CommandRow("check", "report every fault of every file", "gcm.cli.options:check"),
    CommandRow("show", "show the tree of components of an assembly", "gcm.cli.options:show"),
    CommandRow("draw", "draw an assembly as a picture", "gcm.cli.options:draw"),
    CommandRow(
        "port", "write Python skeletons for the classes that are missing",
        "gcm.cli.options:port",
    ),
    CommandRow("run", "make an assembly in this process and run it", "gcm.cli.options:run"),
    CommandRow(
        "completion", "print the script with which a shell completes this command",
        "gcm.cli.options:completion",
    ),
)  # fmt: skip
