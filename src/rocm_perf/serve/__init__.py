"""The runs of some folders as local pages: on loopback, behind a token, and nothing outside the folders."""

LONGEST_JOB_S = 600.0  # an analysis that never ends would keep all others waiting
