"""What communicators are made of and how: groups, splitting, intercommunicators, topologies."""
