"""Benchmarks of the whole path: `make bench` (python -m eval.bench) prints one JSON object.

Every figure is a ratio or a count from one run, medians with their spread, because machines are shared and noisy.
"""
