"""The runs of some folders as local pages: on loopback, behind a token, and nothing outside the folders."""
