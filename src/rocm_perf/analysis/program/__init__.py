"""The program from outside: its ranges, its memory, its energy."""
