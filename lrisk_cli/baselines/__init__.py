"""Published methods to compare with: one per file, all listed in `registry`."""
