"""The SQL that replaces a cube: a union of arms, and COUNT and AVG as sums of measures."""
