"""Collective operations over several clusters as pure algorithms; see `port` for how they run.

There are three levels: native calls within a cluster, messages between the clusters of a site,
messages between sites. Each algorithm's module states the minimum of bytes over a link and of
latencies; the tests count both.
"""

__all__ = ["fault_of_rules", "left_to_ranks"]


def fault_of_rules(text: str) -> str:
    """Return what is wrong with rules that choose plans, or nothing.

    >>> fault_of_rules("bcats=flat")
    "'bcats' has no plans to choose from; did you mean 'bcast'?"
    """
    from runtime.collectives.rules import RuleFault, read_rules  # ranks load this package at start

    try:
        read_rules(text)
    except RuleFault as error:
        return str(error)
    return ""


def left_to_ranks(text: str) -> str:
    """Return what of such rules does not go through the components that they name, or nothing.

    >>> left_to_ranks("flat")
    ''
    """
    from runtime.collectives.rules import beside_components

    return beside_components(text)
