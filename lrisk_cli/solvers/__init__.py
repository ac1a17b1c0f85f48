"""Methods that minimise a problem: one per file, all run by `loop.minimise`."""
