"""Penstock: continuous queries over streams that burst, answered within their delay."""

from penstock.app import App
from penstock.boxes import Box
from penstock.errors import PenstockError
from penstock.plan.functions import aggregate, function

__version__ = "0.1.0"
__all__ = ["App", "Box", "PenstockError", "aggregate", "function"]
