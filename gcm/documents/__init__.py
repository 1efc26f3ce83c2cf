"""Hardened reading of XML documents into located nodes, and the diagnostics about them."""
