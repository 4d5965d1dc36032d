"""Measures of the real rows that may be released: bought under differential privacy."""
