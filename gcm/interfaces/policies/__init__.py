"""Policies of collective calls: distribution of arguments, reduction of results."""
