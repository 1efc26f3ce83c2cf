"""The `gcm-deploy` command: plan, start, watch and end a deployment."""

from runtime.cli.main import main

__all__ = ["main"]
