"""A recording as rows over time: what ran where and when, what it waited for, and what is known of each piece."""
