"""Own files to instance tables: `python -m llp.prepare dataset=files`; `prepare.py` reads top to bottom."""
