"""Results, covers and progress as text for terminals."""
