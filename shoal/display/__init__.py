"""How far things are, shown to a person: units, and progress on a terminal or in a notebook."""
