"""Spectra, and the row weights that they give to losses."""
