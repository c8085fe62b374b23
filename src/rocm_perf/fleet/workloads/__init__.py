"""Named workloads: a catalogue of commands, the images they run in, and the files that a run of one leaves."""
