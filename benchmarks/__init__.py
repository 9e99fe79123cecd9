"""What `penstock bench` measures.

Each module has `run(full, seed)`, which yields figures, and `LIMITS`, what to keep in mind.
"""
