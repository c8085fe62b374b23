"""Gates that a candidate passes before anything of it runs."""
