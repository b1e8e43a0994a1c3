"""Figures of the main functions, each compared with a peer or plain code in the same run: ``python -m benchmarks``."""
