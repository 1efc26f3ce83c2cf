"""Collectives: calls of communicators, their plans, and what a communicator keeps for them.

Modules of plans are imported when a program makes its first collective over several clusters.
"""
