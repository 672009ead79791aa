"""Parse strings in the plain form of a date-time pattern: each field with as many digits as it has letters.

Rows of another form are flagged; the caller parses them by the rules of Java's DateTimeFormatter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyspark_pipeline.kernels.civil import days_in, days_of
from pyspark_pipeline.kernels.jit import kernel

#: The codes of the fields in a compiled pattern, one per digit; a literal has the code of its byte.
YEAR, MONTH, DAY, HOUR, MINUTE, SECOND = range(-6, 0)


@kernel
def parse_pattern(offsets: Any, data: Any, codes: Any, out: Any, plain: Any) -> None:
    """Write the local seconds since 1970-01-01 (int64) of rows in the plain form; ``plain`` (bool): it is in it.

    ``codes`` (int16) has one code per byte of the text. Absent fields are 1970, 1, 1, 0, 0 and 0.
    """
    width = codes.shape[0]
    fields = np.empty(6, np.int64)
    for row in range(out.shape[0]):
        out[row] = 0
        plain[row] = False
        start = offsets[row]
        if offsets[row + 1] - start != width:
            continue
        fields[:] = -1
        valid = True
        for position in range(width):
            code = codes[position]
            byte = data[start + position]
            if code >= 0:
                if byte != code:
                    valid = False
                    break
            elif byte < 48 or byte > 57:
                valid = False
                break
            else:
                value = max(fields[code + 6], 0)
                fields[code + 6] = value * 10 + np.int64(byte) - 48
        if not valid:
            continue
        year = 1970 if fields[0] < 0 else fields[0]
        month = 1 if fields[1] < 0 else fields[1]
        day = 1 if fields[2] < 0 else fields[2]
        hour = max(fields[3], 0)
        minute = max(fields[4], 0)
        second = max(fields[5], 0)
        if month < 1 or month > 12 or day < 1 or day > days_in(year, month):
            continue
        if hour > 23 or minute > 59 or second > 59:
            continue
        out[row] = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second
        plain[row] = True
