"""Programs that are run in processes of their own: nothing beside them has the name of what they import."""
