"""Penstock: continuous queries over streams that burst, answered within their delay."""
