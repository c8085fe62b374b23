"""Programs that serve a model: what each kind of step takes, and the recording cut to the steps of one kind."""
