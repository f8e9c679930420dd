"""Numbers as people read them.  It imports nothing, so that `undeleted --help` waits for no library."""


def in_digits(number: float) -> str:
    """A number as people write it: six digits, or all that stand before the point.

    >>> in_digits(31_795_300.0), in_digits(47_489.123456), in_digits(0.25), in_digits(2.5e-9)
    ('31,795,300', '47,489.1', '0.25', '2.5e-09')
    """
    return f"{number:,.0f}" if 1e5 <= abs(number) < 1e15 else f"{number:,.6g}"
