"""A query to candidates, a cover, rewritten SQL and a scan plan."""
