"""Prefers a plan: filter orders, by what was measured."""
