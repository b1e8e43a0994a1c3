"""The implementation of each statement, one folder for each family; ``dispatch`` finds the runner of a statement."""
