"""Files of programs at peers: a cache by content, and plans that bring one to many hosts."""
