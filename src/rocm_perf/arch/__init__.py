"""What is known about each GPU: peaks, counters, metrics, passes, occupancy, code objects. Facts are data files."""
