"""`shoal up`: one supervisor that runs a whole installation on one machine."""
