"""From an XML descriptor to a plan of what runs where, without any side effect."""
