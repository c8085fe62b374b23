"""Recordings of many ranks, analysed on the workers of a Dask cluster and added up to one document. Dask is imported in
`connection.py`, `spread.py`, `remote_workers.py` and `slurm_workers.py` alone, and only once a cluster is asked for."""
