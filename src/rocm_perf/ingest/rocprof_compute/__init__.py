"""Workloads and databases of rocprof-compute and Omniperf."""
