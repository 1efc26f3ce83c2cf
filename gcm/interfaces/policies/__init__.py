"""How values are shared out among several components, and what comes back is put together."""
