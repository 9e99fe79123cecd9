"""Runs a query network on columnar trains: queues, schedulers, input manager, lanes by key (Babu 2.2, 2.3)."""
