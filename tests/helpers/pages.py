"""The code blocks of the project's Markdown pages, and what the HTML comments above them say.

`<!-- file: mylab/gap.py -->` above a block: it is that file's content.
`<!-- checkout: llp/data/keys/block.py -->` above a block: what becomes of that file of a checkout: lines of a diff, or
its content, which is added to what is there.
`<!-- not run: REASON -->` above a block: the tests leave it out, and count it.
"""

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from llp.config.grouping_keys import CONF_DIR

CHECKOUT = CONF_DIR.parent
PAGES = sorted(str(path.relative_to(CHECKOUT)) for path in [CHECKOUT / "README.md", *CHECKOUT.glob("docs/**/*.md")])
NOTEBOOKS = sorted(str(path.relative_to(CHECKOUT)) for path in CHECKOUT.glob("docs/notebooks/*.ipynb"))
BLOCK = re.compile(r"^(?:<!-- (file|checkout|not run): (.+?) -->\n\n?)?```(\w*)\n(.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page; `file`, `checkout` and `not_run` are what the comment above it says."""

    language: str
    text: str
    file: str | None = None
    checkout: str | None = None
    not_run: str | None = None

    def commands(self):
        """Lists of words of a shell block."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [words for words in (shlex.split(line, comments=True) for line in lines) if words]


def blocks_of(page):
    """The fenced blocks of a page, in order."""
    text = (CHECKOUT / page).read_text()
    found = [
        Block(match[3], match[4], **({match[1].replace(" ", "_"): match[2]} if match[1] else {}))
        for match in BLOCK.finditer(text)
    ]
    assert 2 * len(found) == len(re.findall(r"^ *```", text, re.M)), f"{page}: a block that the tests cannot read"
    return found


def python_of(page):
    """The Python code of a page or a notebook."""
    if not page.endswith(".ipynb"):
        return [block.text for block in blocks_of(page) if block.language == "python"]
    cells = json.loads((CHECKOUT / page).read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return [
        re.sub(r"^%%writefile .*\.py\n", "", text) for text in code if not re.match(r"%%(?!writefile .*\.py\n)", text)
    ]


def links_of(page):
    """Places in the checkout that a page links to."""
    names = re.findall(r"\]\((?!http)([^)#]+)\)", (CHECKOUT / page).read_text())
    return [(CHECKOUT / page).parent / name for name in names]


def public_names():
    """Names of each public module, as CONTRIBUTING.md lists them."""
    section = (CHECKOUT / "CONTRIBUTING.md").read_text().split("\n## What is public\n")[1]
    rows = re.findall(r"^\| `(llp\.[\w.]+)`.*? \| (.+) \|$", section, re.M)
    assert len(rows) > 20
    return {module: re.findall(r"`(\w+)`", names) for module, names in rows}


def write_files(page, home: Path):
    """Write the files that a page shows under a folder."""
    for block in blocks_of(page):
        if block.file:
            path = home / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)


def change_checkout(page, checkout: Path):
    """Change a copy of the checkout as a page says."""
    for block in blocks_of(page):
        if not block.checkout:
            continue
        path = checkout / block.checkout
        text = path.read_text() if path.exists() else ""
        if block.language == "diff":
            for hunk in block.text.split("@@\n"):
                lines = hunk.splitlines(keepends=True)
                before, after = ("".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +"))
                assert text.count(before) == 1, f"{page}: {path.name} has not once:\n{before}"
                text = text.replace(before, after)
        else:
            text += (text and "\n\n") + block.text
        path.write_text(text)
