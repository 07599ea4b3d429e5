"""Where things are kept: sql.py is the truth; log.py is derived from it and may be dropped at any time."""
