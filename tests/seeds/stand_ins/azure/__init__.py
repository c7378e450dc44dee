"""Stands for Azure's namespace in the seeds."""
