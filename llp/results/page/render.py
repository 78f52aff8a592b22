"""Renders the page."""

import base64
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from llp.results import contents
from llp.results.sections import Report, Section

_FIGURE_BYTES = 3_000_000  # of all embedded figures; further ones are links to the files beside the page
_COLOURS = 256  # of an embedded figure: half the bytes, and no difference to see


def render(report: Report, data: Mapping[str, Any], refresh_seconds: int | None) -> str:
    """The page's HTML of `page_data`'s values; a browser loads it again after `refresh_seconds`, or never for None."""
    environment = Environment(
        loader=PackageLoader("llp.results", "page"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("index.html.j2").render(
        sections=report.sections,
        opening=next((section for section in report.sections if section.learnt), None),
        grids=report.grids,
        figures=dict(_embed(report.sections, report.outputs_dir / "report")),
        problems=report.closing[1:],
        data=as_json(data),
        refresh_seconds=refresh_seconds,
    )


def as_json(data: Mapping[str, Any]) -> Markup:
    """JSON that can stand inside a script element: no text in it can end the element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def _embed(sections: Sequence[Section], folder: Path) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Title and source, a data URL or the path of a file, of the figures of each section."""
    room, titles = _FIGURE_BYTES, {**contents.SCORE_FIGURES, **contents.DATASET_FIGURES}
    for section in sections:
        figures = []
        for name, path in section.figures.items():
            source = _data_url(path) if room > 0 else ""
            room -= len(source)
            figures.append((titles[name][0], source or quote(str(path.relative_to(folder)))))
        yield section.name, figures


def _data_url(path: Path) -> str:
    from PIL import Image

    content = io.BytesIO()
    image = Image.open(path).convert("RGB").quantize(_COLOURS, Image.Quantize.FASTOCTREE)
    image.save(content, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()
