"""Servers over a warehouse. Each is an object with ``start``, ``stop`` and the ``url`` that its users need."""
