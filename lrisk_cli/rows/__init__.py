"""What coefficients multiply: the one way to a matrix of rows."""
