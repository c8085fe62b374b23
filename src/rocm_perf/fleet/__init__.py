"""Programs on many GPUs: started by a launcher, followed, and brought together in one folder."""
