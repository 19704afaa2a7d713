"""The eager tape: nodes, hooks, views of memory, and checks of writes into what is saved."""
