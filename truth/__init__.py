"""A public bench: whether tools tell the truth about rollups and time ranges. README.md explains it."""
