"""Bringing home what the ranks made: which files, how, and where to."""
