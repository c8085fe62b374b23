"""What was measured before: kept results, the levels they lie on, the gate that judges the newest, and the phases of an
optimisation."""
