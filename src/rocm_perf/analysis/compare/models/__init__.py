"""Two recordings of a model beside each other: operator by operator, by tree, shapes and order."""
