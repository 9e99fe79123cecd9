"""Lanes beside Spark's Python workers: a server process for each lane and machine, and the couriers that reach it."""
