"""Collectives: the calls of communicators, their plans, and the state communicators keep for them.

The modules of plans are imported with a program's first collective over several clusters.
"""
