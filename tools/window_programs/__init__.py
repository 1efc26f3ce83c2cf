"""Random programs of one-sided calls, against a model that is an array for each rank's window."""
