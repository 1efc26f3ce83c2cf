"""Credentials of a lab: its authority, invitations, and what connections make of them."""
