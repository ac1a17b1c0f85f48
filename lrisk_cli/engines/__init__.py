"""Where a sweep over the rows runs: in memory, or from files."""
