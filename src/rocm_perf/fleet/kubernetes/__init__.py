"""An indexed Job of Kubernetes: one pod for each node, their meeting place, what they read, and where they record."""
