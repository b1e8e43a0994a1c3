"""From names, specs and filters as typed to tables, columns and partitions.

Tables do not share files (``location_conflicts``): tables that share files are overwritten together, so a location is
checked when it is given, and again before an OVERWRITE removes files.
"""
