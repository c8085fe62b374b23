"""From a source to its code objects: which compiler, which command, and builds of copies."""
