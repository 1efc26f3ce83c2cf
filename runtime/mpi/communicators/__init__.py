"""How communicators are made: groups, splitting, intercommunicators, topologies."""
