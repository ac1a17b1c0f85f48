"""Methods that others published, to compare with: one per file, all listed in `registry`."""
