"""The in-process transport: buffers, windows and receivers between the instances of a local query."""
