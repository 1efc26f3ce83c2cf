"""What ranks add to their names when they connect to each other."""

LANE = " lane"
"""What is added to the name of a rank that opens one more connection, for parts of payloads."""

PROBES = " probes"
"""What is added to the name of a rank that only wants to know whether it reaches another one."""
