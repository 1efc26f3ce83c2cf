"""Who is in the lab: the table of supernodes, and the list of hosts that each peer keeps. Pure.

Times are those of one clock of this host that does not stop while it sleeps; they never travel.
What travels is how old something is.
"""
