"""What a rank asks of another one that it cannot connect to."""

COME = "come"
"""To connect to it."""

MEET = "meet"
"""To come to a front-end, where it waits."""
