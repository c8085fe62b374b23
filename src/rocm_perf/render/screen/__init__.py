"""What a terminal shows, one module for each verb."""
