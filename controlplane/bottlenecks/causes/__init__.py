"""Causes, each a function from facts to findings; `ranking` beside it has the table of them."""
