"""Collective operations over several clusters as pure algorithms; see `port` for how they run.

There are three levels: native calls within a cluster, messages between the clusters of a site,
messages between sites. Each algorithm's module states the minimum of bytes over a link and of
latencies; the tests count both.
"""
