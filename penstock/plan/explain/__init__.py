"""Shows a query network to a person: as text, as JSON, as a picture."""

from penstock.plan.explain.graph import Graph, Vertex, graph
from penstock.plan.explain.svg import to_svg
from penstock.plan.explain.text import to_json, to_text

__all__ = ["Graph", "Vertex", "graph", "to_json", "to_svg", "to_text"]
