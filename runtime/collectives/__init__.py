"""Collective operations over several clusters as pure algorithms; see `port` for how they run.

Three levels: native calls inside a cluster, messages between the clusters of a site, messages
between sites. Each algorithm's module says the least bytes that have to cross a link and how many
latencies one has to wait; the tests count both.
"""
