"""The lab as people look at it: in a terminal, and as a page in a browser."""
