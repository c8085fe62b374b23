"""Sensors read in a process of their own while a program runs."""
