"""Options: how models are validated, evaluated, compared and checked by gates."""
