"""Features: what a fit learned about a column and how it is encoded, one file per kind."""
