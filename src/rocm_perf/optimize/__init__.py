"""The guarded optimisation loop: propose a change of a kernel, prove it, measure it, accept it or roll it back."""
