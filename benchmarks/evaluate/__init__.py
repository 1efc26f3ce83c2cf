"""The evaluation: what the sources found, measured again; `python -m benchmarks.evaluate`."""
