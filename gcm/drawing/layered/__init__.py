"""The layered layout of one composite: layers, columns, the order in each, and heights."""
