"""Requests as programs see them, and calls that complete several of them."""
