"""Sorting: full sorts with spilled runs (:mod:`~.sort`, :mod:`~.collect`, :mod:`~.runs`) and :mod:`~.top_n`."""
