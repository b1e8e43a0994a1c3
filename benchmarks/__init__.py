"""Figures of the main job, each beside what a peer or plain code does, measured in the same run: ``python -m
benchmarks``.
"""
