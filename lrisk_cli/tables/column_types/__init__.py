"""Column types: how the cells of a column are read, one file per type."""
