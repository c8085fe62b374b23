"""How long does it take, and is a change really faster: timing in fresh processes, and what their times say."""
