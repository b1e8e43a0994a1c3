"""What people see of results, covers and errors: in a terminal, and as HTML."""
