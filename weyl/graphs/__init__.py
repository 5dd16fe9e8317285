"""Graphs, the distances of their nodes, and which pairs are trained when. Imports only the grammar and numpy.

expression ─► generators ─┐                     ┌─ breadth first or Dijkstra, compiled (native.py) or scipy
file ──► edge_list, files ├─► Graph ─► Distances ┴─► PairSchedule ─► batches of (first, second, target)
object ─────► objects ────┘              └─ cache
"""

from .distances import Distances, graph_distances
from .graph import Graph, graph
from .pairs import PairSchedule

__all__ = ["Distances", "Graph", "PairSchedule", "graph", "graph_distances"]
