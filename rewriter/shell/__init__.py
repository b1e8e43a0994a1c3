"""The shell's rendering of results, covers and errors."""
