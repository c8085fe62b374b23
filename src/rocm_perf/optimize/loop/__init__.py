"""From candidates to a verdict: the gates in their order, the search within a budget, the ledger."""
