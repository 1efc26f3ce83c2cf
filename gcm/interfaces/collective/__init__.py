"""Multicast and gathercast interfaces: one call that involves several components."""
