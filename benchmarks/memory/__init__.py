"""How much memory things take."""
