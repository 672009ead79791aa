"""The command line of the TPC-DS benchmark."""

from __future__ import annotations

import sys

from benchmarks.tpcds.suite import TPCDS

if __name__ == "__main__":
    sys.exit(TPCDS.main())
