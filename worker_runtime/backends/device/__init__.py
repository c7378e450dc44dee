"""Executions on a device through PyTorch's streams and memory, whichever library runs."""
