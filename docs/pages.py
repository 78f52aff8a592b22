"""Pages of the site (`make docs`) that are made: the checkout's own ones, the notebooks, the public names of Python."""

import json
import re
from itertools import groupby
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

SCHEMAS = ("llp.runs.record", "llp.config.commands")  # every field of which is public
FIELDS = "\n    options: {show_if_no_docstring: true}"
TOP = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}


def from_top(text: str) -> str:
    """A page of the checkout's top with links as from docs/; the licence is no page."""
    for name, place in TOP.items():
        text = text.replace(f"]({name}", f"]({place}")
    return text.replace("](docs/", "](")


def from_notebook(text: str) -> str:
    """The cells of a notebook as text and blocks of code."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        language = "bash" if source.startswith("%%bash\n") else "python"
        source = source.removeprefix("%%bash\n")
        parts.append(source if cell["cell_type"] == "markdown" else f"```{language}\n{source}\n```")
    return "\n\n".join(parts)


def public_names(contributing: str) -> list[tuple[str, list[str]]]:
    """Public modules and their names, as CONTRIBUTING.md lists them."""
    section = contributing.split("\n## What is public\n")[1]
    rows = re.findall(r"^\| `(llp\.[\w.]+)`.*? \| (.+) \|$", section, re.M)
    return [(module, re.findall(r"`(\w+)`", names)) for module, names in rows]


def api_pages(contributing: str) -> dict[str, str]:
    """A page for each room of the package with all of its public names; what `llp` itself offers is under that name."""
    pages = {}
    for room, modules in groupby(public_names(contributing), key=lambda row: row[0].split(".")[1]):
        parts = [f"# {'llp' if room == 'api' else f'llp.{room}'}"]
        for module, names in modules:
            place = "llp" if room == "api" else module
            parts += [f"## {place}"] if f"# {place}" not in parts else []
            fields = FIELDS if module in SCHEMAS else ""
            parts += [f"::: {place}.{name}{fields}" for name in names]
        pages[f"api/{room}.md"] = "\n\n".join(parts)
    return pages


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the pages of the API in the navigation."""
    api = [*api_pages((Path(config.config_file_path).parent / "CONTRIBUTING.md").read_text())]
    config.nav = [{"API": api} if entry == {"API": "api"} else entry for entry in config.nav or ()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    top = Path(config.config_file_path).parent
    made = {place: from_top((top / name).read_text()) for name, place in TOP.items()}
    notebooks = sorted(top.glob("docs/notebooks/*.ipynb"))
    made |= {f"notebooks/{path.stem}.md": from_notebook(path.read_text()) for path in notebooks}
    made |= api_pages((top / "CONTRIBUTING.md").read_text())
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A page with links to the notebooks' pages, not to their files."""
    return markdown.replace(".ipynb)", ".md)")
