"""Mutants of the core: small faults in its functions, of which the tests must find nine in ten.

``subjects`` names the packages, ``mutants`` makes the faults, ``line_records`` records which test executes which line,
and ``trials`` runs these tests against each fault. ``explained.toml`` lists the mutants that no test can or need kill.
"""
