"""Measurements that `weyl bench` prints: what is timed, beside what, and as which share of the machine's peak.

    pairs.py    distances of pairs and their gradients: the cases, the rows
      timing.py           ways of doing the same, timed in turns
      operations.py       how many multiply-adds a pair takes      peak.py  how many the machine does
      competitor.py       other libraries: how they are called;    geoopt_pairs.py, sympa_pairs.py  each one
      machine.py          where and when it was measured
    picture.py  rows to a figure

`python -m weyl.bench` prints the rows where only torch is installed.
"""
