"""Questions to a recording in SQL, answered by a process that can be ended and reaches nothing but the tables."""
