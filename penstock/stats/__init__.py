"""Measures: counters of operators, queues and streams, as immutable numbered snapshots."""
