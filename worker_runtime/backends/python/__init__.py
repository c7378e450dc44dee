"""Models that are Python code: one process per instance, tensors through shared memory."""
