"""The `gcm` command: check, show, draw and run assemblies."""

from gcm.cli.main import main

__all__ = ["main"]
