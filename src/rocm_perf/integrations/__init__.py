"""rocm-perf inside other tools, which import it by themselves."""
