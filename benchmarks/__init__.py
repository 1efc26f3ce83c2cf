"""Measures the component model against plain Python and other libraries; run by `make bench`."""
