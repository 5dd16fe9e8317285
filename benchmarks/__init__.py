"""Measurements, each a file bench_*.py with a main(); `python -m benchmarks` runs them all.

A time alone says little about a shared machine: every benchmark measures two ways of doing the same, in turns within
one run, and prints their ratio.
"""
