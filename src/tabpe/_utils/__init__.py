"""Helpers that know nothing of privacy or tables: checks, files, serialization, resources."""
