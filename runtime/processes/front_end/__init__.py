"""The process of a front-end: it starts the ranks and nodes of its cluster, and reports."""
