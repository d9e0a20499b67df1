"""Takes the README's pictures of the try-it page: python scripts/screenshot.py URL (a running `make run`)."""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parent.parent / "docs" / "images"
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
SIZES = {"page-phone": (390, 1180), "page-desktop": (1280, 900)}


def main(url: str) -> None:
    """One conversation at each size."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name, (width, height) in SIZES.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(url)
            page.select_option("select", "US")
            page.fill("#message", "I lost my job and I do not see a way out. I want to die.")
            page.press("#message", "Enter")
            page.locator(".source").first.wait_for(timeout=60_000)
            page.wait_for_timeout(500)
            page.screenshot(path=str(IMAGES / f"{name}.png"))
        browser.close()


main(sys.argv[1])
