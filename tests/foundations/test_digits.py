"""Numbers as people read them."""

import pytest

from undeleted.foundations.digits import in_digits


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (31_795_300.4, "31,795,300"),
        (-123_456.7, "-123,457"),
        (1234.5678, "1,234.57"),
        (0.0, "0"),
        (1e15, "1e+15"),
    ],
)
def test_a_number_has_six_digits_or_all_before_the_point(number, text):
    assert in_digits(number) == text
