"""Hundreds of queries in one session, monitored for growth of threads, memory, files, processes."""
