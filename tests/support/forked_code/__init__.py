"""A program for the fork server of tests: it runs the code that it is given."""
