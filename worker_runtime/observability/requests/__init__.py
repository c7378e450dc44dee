"""Single requests of clients, with where their time went: a few of however many."""
