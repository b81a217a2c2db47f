"""The docs site: it builds with warnings as errors, shows what it should, and loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

pytest.importorskip("material")
pytest.importorskip("mkdocstrings")

ROOT = Path(__file__).parents[2]
LOADING = re.compile(r"<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|srcset|data)=([^\s>]+)")
LINKED = re.compile(r"<link\b[^>]*>")
LOCAL = re.compile(r'(?:href|src)="?([^"\s>]+)"?')


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built strictly: a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site) -> dict[str, str]:
    return {str(path.relative_to(site)): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}


def is_elsewhere(address: str) -> bool:
    return address.strip("\"'").startswith(("http:", "https:", "//"))


def test_every_page_of_the_docs_is_built(pages):
    for source in (ROOT / "docs").rglob("*.md"):
        assert str(source.relative_to(ROOT / "docs").with_suffix(".html")) in pages


def test_no_page_loads_scripts_styles_fonts_or_pictures_from_elsewhere(pages):
    for name, text in pages.items():
        loaded = [address for address in LOADING.findall(text) if is_elsewhere(address)]
        loaded += [tag for tag in LINKED.findall(text) if "http" in tag and 'rel="canonical"' not in tag]
        assert not loaded, f"{name} loads {loaded}"


def test_no_style_loads_anything_from_elsewhere(site):
    for path in site.rglob("*.css"):
        assert not re.search(r"(?:@import\s+|url\()['\"]?(?:https?:)?//", path.read_text(encoding="utf-8")), path.name


def test_a_picture_from_elsewhere_would_be_noticed():
    found = LOADING.findall('<script src="https://x.org/a.js"></script><img alt="" src=figures/a.svg>')
    assert [is_elsewhere(each) for each in found] == [True, False]


def test_files_that_pages_name_are_in_the_site(site, pages):
    for name, text in pages.items():
        if name == "404.html":  # its addresses start at the root of a server
            continue
        for address in LOCAL.findall(text):
            target = unquote(unescape(address)).split("#")[0].split("?")[0]
            if target and not re.match(r"[a-z]+:|//", target):
                assert (site / name).parent.joinpath(target).exists(), f"{name} names {address}"


def test_search_works_from_disk(site, pages):
    assert (site / "search" / "search_index.js").exists()
    assert "assets/iframe-worker.js" in pages["index.html"]


def test_docstrings_are_shown_with_their_examples(pages):
    text = pages["reference/quorate.html"]
    assert "Dirichlet concentration" in text
    assert "&gt;&gt;&gt;" in text
    assert "<blockquote>" not in text


def test_names_that_a_function_shares_with_its_module_show_the_function(pages):
    for page in ("quorate", "tables", "audit", "live", "testing"):
        assert "doc-symbol-module" not in pages[f"reference/{page}.html"], page


def test_pictures_say_in_words_what_they_show():
    for source in (ROOT / "docs").rglob("*.md"):
        for words in re.findall(r"!\[([^\]]*)\]\(", source.read_text(encoding="utf-8")):
            assert len(words) > 20, f"{source.name}: ![{words}]"
