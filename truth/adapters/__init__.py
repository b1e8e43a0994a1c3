"""One module for each tool. A module imports its tool alone; it runs in that tool's virtual environment."""
