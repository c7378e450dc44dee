"""Scoring scripts as Azure ML's inference server runs them: ``init()``, ``run(data)``.

A model whose class in ``model.py`` is a ``ScoringScript`` runs the script that its configuration
names, with one request body as its input and one answer as its output.
"""

from .model import ScoringScript

__all__ = ["ScoringScript"]
