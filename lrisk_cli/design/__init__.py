"""Tables to numeric designs, and what it takes to repeat that on new rows."""
