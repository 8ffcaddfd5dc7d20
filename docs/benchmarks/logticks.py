"""Tick positions on a logarithmic axis."""

import math


def logticks(lowest, highest):
    """The digits 1, 2 and 5 of every power of ten in between, or the powers alone if
    that gives more than eight ticks."""
    powers = range(math.floor(math.log10(lowest)), math.ceil(math.log10(highest)) + 1)
    for digits in ((1, 2, 5), (1,)):
        marks = [d * 10.0**k for k in powers for d in digits if lowest <= d * 10.0**k <= highest]
        if len(marks) <= 8:
            break
    return marks
