"""The site builds without a warning, takes nothing from elsewhere, and its pages are short."""

import re
from pathlib import Path

import pytest

from tests.browser import browser, needs_browser

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder)))  # strict: a warning raises
    return folder


def words(page: str) -> int:
    return len((DOCS / page).read_text().split())


def test_nothing_comes_from_elsewhere(site: Path) -> None:
    pages = [path.read_text() for path in site.rglob("*.html")]
    assert len(pages) > len(PAGES)
    for page in pages:
        assert not re.findall(r'(?:src|rel="stylesheet" href)="https?:', page)
        assert "fonts.g" not in page


def test_commands_and_keys_are_those_of_the_program(site: Path) -> None:
    commands = (site / "reference" / "commands.html").read_text()
    keys = (site / "reference" / "keys.html").read_text()
    assert 'id="generate"' in commands
    assert "python -m seqkit generate" in commands
    assert "<code>train.max_minutes</code>" in keys
    assert "<code>train.input_noise</code>" in keys


@pytest.mark.thorough
@needs_browser
def test_pages_fit_a_telephone_and_ask_for_nothing(site: Path, tmp_path: Path) -> None:
    with browser(tmp_path) as page:
        for path in sorted(set(site.rglob("*.html")) - {site / "404.html"}):
            page.open(path)
            assert page.ask("document.documentElement.scrollWidth") <= 360, path.name
        assert not [url for url in page.requests if not url.startswith(("file:", "data:"))]
        # Only a published site has several versions, and the list of them.
        assert not [error for error in page.errors if "versions.json" not in error]


def test_every_sound_that_is_played_is_there(site: Path) -> None:
    played = re.findall(r'<audio[^>]* src="([^"]+)"', (site / "hear.html").read_text())
    assert played and {*played} == {f"sounds/{file.name}" for file in (site / "sounds").iterdir()}
    assert all((site / name).stat().st_size > 10_000 for name in played)


def test_the_documents_are_short() -> None:
    beside = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
    rest = sum(len((ROOT / name).read_text().split()) for name in beside)
    assert rest + sum(words(page) for page in PAGES if not page.startswith("lab/")) <= 30_000
    assert sum(words(page) for page in PAGES if page.startswith("lab/")) <= 8_500
