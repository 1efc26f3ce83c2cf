"""Labs of up to 10⁵ peers: membership, ranking and booking, simulated with the very code."""
