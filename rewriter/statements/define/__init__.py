"""CREATE, ALTER and DROP of databases, tables, views, cubes and facts."""
