"""The pictures in docs/images: pages of the shipped samples, as Chromium shows them."""

import io
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser import find_chromium, open_browser  # noqa: E402

WINE = "sample_data/wine_quality_red.csv"
PAGES = {
    "fit": ["fit", WINE, "--target", "quality", "--risk", "superquantile:0.9", "--holdout", "0.2"],
    "quantiles": ["quantile-report", WINE, "--target", "quality", "--risk", "superquantile:0.9",
                  "--risk", "extremile:2", "--repeats", "20"],
    "clusters": ["cluster", "sample_data/clouds.csv", "-k", "2..6", "--id", "id", "--label",
                 "cloud", "--inlier-labels", "left,middle,right"],
}  # fmt: skip
# Name, page, width and height of the window, dark or light.
PICTURES = (
    ("fit.png", "fit", 1120, 1260, False),
    ("quantiles.png", "quantiles", 1120, 960, False),
    ("clusters.png", "clusters", 1120, 1260, False),
    ("quantiles-phone.png", "quantiles", 390, 1260, True),
)


def main() -> None:
    program = find_chromium()
    if program is None:
        sys.exit("make_images: no Chromium; install Debian's package chromium")
    images = ROOT / "docs/images"
    images.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, open_browser(program, Path(name)) as browser:
        folder = Path(name)
        for page, command in PAGES.items():
            path = str(folder / f"{page}.html")
            lrisk = [sys.executable, "-m", "lrisk_cli", *command, "--html", path, "--quiet"]
            subprocess.run(lrisk, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        for picture, page, width, height, dark in PICTURES:
            browser.open(folder / f"{page}.html", width=width, dark=dark)
            image = Image.open(io.BytesIO(browser.screenshot(height))).convert("RGB")
            # A palette is enough for a page, and takes a third of the room.
            image.quantize(224, dither=Image.Dither.NONE).save(images / picture, optimize=True)


if __name__ == "__main__":
    main()
