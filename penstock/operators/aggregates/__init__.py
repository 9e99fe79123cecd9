"""Accumulators: the state of one aggregate for all groups at once, one kind a file."""
