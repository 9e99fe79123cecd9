"""What drops do to trains, one kind a file, and the valves in which they sit on the arcs of a running network."""

from penstock.operators.drops.valve import RunningDrop, Valve, running

__all__ = ["RunningDrop", "Valve", "running"]
