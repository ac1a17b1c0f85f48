"""Measurements of speed, memory and published results; README.md lists them."""
