"""Multicast and gathercast interfaces: one call that meets several components."""
