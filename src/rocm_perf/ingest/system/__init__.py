"""What describes a machine rather than a run: rocminfo, SMI tools, lists of counters."""
