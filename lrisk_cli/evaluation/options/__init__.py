"""Options: how models are validated, judged, compared and checked by gates."""
