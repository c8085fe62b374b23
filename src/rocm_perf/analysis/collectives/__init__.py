"""Collectives: how long they run, how fast against what the links allow, who sends how much to whom."""
