"""What notebooks show: every text escaped, a bar where there is a number, and no more than a screen."""

import re

from undeleted import Category, Number, histogram, mean, publish
from undeleted.curate.notebook import MOST_ROWS, as_html


def row(estimate, low, high, **labels):
    return {"publication": "p", **labels, "estimate": estimate, "low": low, "high": high}


def bars(page):
    return [tuple(map(float, pair)) for pair in re.findall(r"left: ([-\d.]+)%; width: ([-\d.]+)%", page)]


def test_texts_are_escaped():
    page = as_html([row(1, 0, 2, city="<script>alert(1)</script>")])
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_bars_and_intervals_lie_on_one_scale():
    assert bars(as_html([row(50, 25, 100), row(100, 75, 100)])) == [
        *[(0.0, 50.0), (25.0, 75.0)],
        *[(0.0, 100.0), (75.0, 25.0)],
    ]
    assert bars(as_html([row(-50, -100, 0), row(100, 0, 100)])) == [
        *[(25.0, 25.0), (0.0, 50.0)],
        *[(50.0, 50.0), (50.0, 50.0)],
    ]


def test_what_is_no_number_has_no_bar():
    for rows in ([], [row("2020-01", "2020-01", "2020-02")], [row(3, None, None)], [row(0, 0, 0)]):
        assert bars(as_html(rows)) == []


def test_a_long_table_is_cut_and_says_so():
    page = as_html(row(i, i, i + 1) for i in range(MOST_ROWS + 7))
    assert page.count("<tr>") == MOST_ROWS + 1
    assert "7 more rows" in page


def test_publications_and_curators_show_themselves():
    age, city = Number("age", min=0, max=99), Category("city", values=("Rome", "<Oslo>"))
    people = {"pid": range(100), "age": [40] * 100, "city": ["Rome", "<Oslo>"] * 50}
    curator = publish(people, id="pid", budget=4, ages=mean(age), cities=histogram(city))
    page = curator.show("cities")._repr_html_()
    assert "<td>Rome</td>" in page
    assert "&lt;Oslo&gt;" in page
    assert len(bars(page)) == 4
    assert curator._repr_html_().count("<table>") == 2
    assert repr(curator.show("cities")) == "Publication('cities', kind='histogram', version=1)"
    frame = curator.to_pandas()
    assert frame.publication.tolist() == ["ages", "cities", "cities"]
