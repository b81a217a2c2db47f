"""The browser the other tests drive: the system's own, with scripts running."""


def test_a_page_is_drawn_and_its_script_runs(chromium):
    context = chromium.new_context()
    page = context.new_page()
    page.set_content("<button onclick=\"this.textContent = 'pressed'\">press</button>")
    page.get_by_role("button").click()
    assert page.get_by_role("button").text_content() == "pressed"
    assert "Chrom" in page.evaluate("navigator.userAgent")
    context.close()


def test_a_context_starts_with_no_cookies(chromium):
    with chromium.new_context() as context:
        assert context.cookies() == []
