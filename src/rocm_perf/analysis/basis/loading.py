"""How ranges and operators that fetch data are named."""

from __future__ import annotations

# What frameworks and programs call the fetching of a batch: torch's `enumerate(DataLoader)#...__next__`, TensorFlow's
# `IteratorGetNext`, and plain words for it.
LOADING = (
    r"(?i)data_?loader|__next__|next_data|iterator.*next|(load|fetch|get|next)\w*[ _](batch|data|input)(es|s)?\b"
    r"|(batch|data|input)[ _]?(load|fetch|pipeline|wait)"
)
