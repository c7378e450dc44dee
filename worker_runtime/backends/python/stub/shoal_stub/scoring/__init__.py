"""Scoring scripts as Azure ML's inference server runs them: ``init()``, ``run(data)``.

A model whose ``model.py`` imports ``TritonPythonModel`` from here runs the script that its
configuration names, with one request body as its input and one answer as its output.
"""

from .model import TritonPythonModel

__all__ = ["TritonPythonModel"]
