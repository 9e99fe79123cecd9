"""Distributed load shedding: which node drops what, planned in advance, looked up in microseconds (Tatbul, chapter 5).

Start at `planner.plan`; `reader.read_topology` and `adapter.from_network` make the topologies that it takes,
`peer.Peer` is a node of the distributed protocol, `describe` tells a person about plans. `docs/papers/borealis.md`
maps the chapter to modules and tests.
"""
