"""How requests wait and when they run: one scheduler per model version.

The deciding parts (batching, queue, inline) are pure; the schedulers feed them time and requests.
"""
