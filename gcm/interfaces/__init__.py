"""Interfaces: their types, signatures, stubs, and the ways one call meets several components."""
