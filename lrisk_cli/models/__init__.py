"""Models: fitted, stored as JSON, and scoring rows."""
