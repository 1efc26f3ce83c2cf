"""Peers: machines of a lab that lend each other places to run processes."""
