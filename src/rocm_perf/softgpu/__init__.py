"""An AMD GPU in software: a made-up device on which AMD's own runtimes run, and the execution of machine code."""
