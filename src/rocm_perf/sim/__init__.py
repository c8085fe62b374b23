"""A deterministic model of host threads, queues and GPUs: it runs a workload file and knows the true answers."""
