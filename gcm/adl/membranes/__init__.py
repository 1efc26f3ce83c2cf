"""Membranes in documents: interceptors, controller files, circular bindings."""
