"""What a notebook shows instead of a repr: HTML in the notebook's own look."""
