"""The layers of a model where no module is recorded for them: what repeats within a step or a graph."""
