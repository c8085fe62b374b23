"""Recording a program: which profiler, which passes, the launch itself, and samplers beside it."""
