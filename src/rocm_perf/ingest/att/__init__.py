"""Decoded thread traces (rocprofv3 --att)."""
