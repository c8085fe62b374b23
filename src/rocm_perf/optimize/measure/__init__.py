"""How much faster a candidate is: in the replay runner and in the program, by turns, in fresh processes."""
