"""Sites, clusters, nodes and ranks as pure values: identifiers, rank tables, neighbourhood."""
