"""Hundreds of queries in one session, watched for what grows: threads, memory, files, processes."""
