"""What a traced run becomes: the graph, the tree of its paths, its outputs, and what tracing
may cost."""
