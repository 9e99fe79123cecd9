"""Decides when and how much: the loop from snapshots to plans, its strategies, and the gate that changes pass."""
