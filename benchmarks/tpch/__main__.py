"""The command line of the TPC-H benchmark."""

from __future__ import annotations

import sys

from benchmarks.tpch.suite import TPCH

if __name__ == "__main__":
    sys.exit(TPCH.main())
