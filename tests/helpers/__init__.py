"""What tests share. Tests never import from one another."""
