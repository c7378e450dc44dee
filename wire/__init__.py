"""What the two planes say to each other: plain messages, standard library only."""
