"""How well an embedding keeps a graph, in blocks of rows: no n × n matrix is ever in memory.

sources (sampling.py) → rows (rows.py) ─┬─ distortion.py
                                        ├─ average_precision.py, on ranks of neighbours
                                        └─ ranking.py
scores.py runs one pass over the rows and feeds all three
"""
