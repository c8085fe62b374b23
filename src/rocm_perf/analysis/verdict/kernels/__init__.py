"""What is said of the kernels that hold the time, one module per question; findings.py puts the answers together."""
