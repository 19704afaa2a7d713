"""What one process and its threads share: thread-local state, pauses of the garbage collector,
the C allocator."""
