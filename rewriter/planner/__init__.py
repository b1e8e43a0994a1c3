"""From a query to candidates, a cover, rewritten SQL and a scan plan. ``plan_query`` lists the passes in order.

- **Allow-lists.** A function, an aggregate or a construct is used only where it is proven to be right. Every other one
  reads the base period, or is refused with its name. Unknown is never assumed to be harmless.
- **Pruning is an implication** (``table_pruning``). From a condition follows a filter that is TRUE wherever the
  condition is, and only partitions that fail the filter are left unread. A part that is not understood can be left out
  of an AND; NOT is never put before a filter that says too much.
"""
