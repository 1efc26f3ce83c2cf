"""Lanes: further connections of a pair, over which parts of large payloads go."""
