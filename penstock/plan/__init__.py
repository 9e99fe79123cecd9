"""Describes a query: types, expressions, nodes, the network they form, and the rewrites from plan to plan."""
