"""Files of a model: where they may lie, and what they are. Nothing is run or loaded to tell."""
