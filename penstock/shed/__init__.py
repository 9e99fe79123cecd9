"""Gives tuples up: what the users' promises allow, where to drop, what to drop, and what that costs each answer."""
