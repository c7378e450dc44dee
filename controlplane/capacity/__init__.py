"""What runs where, what is idle, how much more could be carried, what a lost node would do."""
