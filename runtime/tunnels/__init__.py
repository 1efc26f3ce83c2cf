"""Connections between clusters that have no other way: over the launcher's ways to both.

    rank ─ front-end ─┐                                              ┌─ front-end ─ rank
                      └─ end ════ ssh ════ hub ════ ssh ════ end ────┘
         cluster a                  launcher's machine                  cluster b

An *end* is a process beside a front-end. It has a socket for each other cluster, to which only the
user of this host can connect; what the front-end writes there comes out at a connection that the
other end makes to the front-end of that cluster. All connections of an end share its standard
streams, which `ssh`, or whatever else leads there, passes on: no port is opened, and nodes without
any network have a way too. The *hub* passes frames from one end to another and opens none of them.

The front-ends, and the two ranks behind them, prove themselves to each other over such a connection
as over any other: neither ends nor hub have a key of the run. `ssh` encrypts between hosts; a hub
could read what passes, as the launcher, which made all keys of the run, can do anyway.

A connection has at most WINDOW bytes under way in each direction, so neither hub nor ends ever hold
more than that for a rank that does not read. An end that hears nothing for LEASE seconds, not even
a ping, ends by itself.
"""
