"""What limits each kernel, from whatever was recorded: one table of units, and the causes that follow from it."""
