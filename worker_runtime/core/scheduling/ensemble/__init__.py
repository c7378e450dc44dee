"""Ensembles: ``graph`` and ``flow`` decide and are pure; ``run`` and ``scheduler`` act."""
