"""What a run shows: a tree on a terminal, lines elsewhere, a summary at the end."""
