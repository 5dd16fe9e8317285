"""Tests of kernels share pair_cases.py, which stands beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
