"""The `gcm` command: check, show, draw and run assemblies."""
