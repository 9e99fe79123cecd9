"""Columns, the trains that carry them, and the dictionaries that turn strings into codes."""
