"""Charts: shapes within their area, text escaped, nothing that the content policy refuses."""

from xml.etree import ElementTree

from quorate_service.pages.rendering import ChartLine, bar, columns, line_chart, swatch


def test_every_chart_is_well_formed_and_has_no_style_or_script():
    charts = [
        line_chart([ChartLine("a", 0, [0.1, 0.9]), ChartLine("b", 9, [])], title='"<b>', most=1.0),
        line_chart([], title="nothing", most=0.0),
        columns([0, 3, 1], title="votes"),
        columns([], title="none"),
        bar([(3, 0), (2, 1)], whole=7),
        bar([], whole=0),
        swatch(12),
    ]
    for chart in charts:
        root = ElementTree.fromstring(str(chart))
        for element in root.iter():
            assert not {"style", "onclick", "onload"} & set(element.attrib)
            assert element.tag != "script"
    assert 'aria-label="&#34;&lt;b&gt;"' in charts[0]
