"""Play faults by real processes and write faults.md: `python -m tests.robustness [PART OF A FAULT'S NAME]`.

All of them take minutes; with a part of a name the rows of the others stay as they are.
"""

import re
import sys
import tempfile
from pathlib import Path

from tests.robustness.faults import FAULTS
from tests.robustness.scene import Answer, CannotBeMadeError, Scene

PAGE = Path(__file__).with_name("faults.md")
LONGEST = 230
HEAD = """# Faults of a machine, and what is said of them

Made by `python -m tests.robustness`. Each is played with real processes: the exit codes, and the last line that is
said, if any. What was finished stays, the same command resumes the rest, and none ends in a traceback. Wrong inputs
are in `tests/helpers/wrong_values.py`, and are refused in one line, before any work, with exit code 1.

| fault | exit code | said last |
|---|---|---|
"""


def cell(text: str) -> str:
    """A text as it stands in a table, cut where it is long."""
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 2]} …"
    return "`` " + text.replace("|", "\\|") + " ``" if "`" in text else "`" + text.replace("|", "\\|") + "`"


def said(answer: Answer, folder: Path) -> str:
    """The last line of an answer without times, numbers of processes, rates and folders."""
    lines = [line for line in (answer.err or answer.out).splitlines() if line.strip()]
    line = re.sub(r"^(\d{4}/\d\d/\d\d )?\d\d:\d\d:\d\d ", "", lines[-1]) if lines else ""
    line = line.replace(str(folder), "").replace("/data/", "data/").replace("/outputs/", "outputs/")
    line = re.sub(r"[^/]+_[0-9a-f]{12}\.json", "KEY.json", line)
    line = re.sub(r"\.\d+\.", ".N.", re.sub(r"/[0-9a-f]{8}\b", "/HASH", line))
    return re.sub(r"(?<![\w=.,])\d[\d,]*(\.\d+)?(e-\d+)?(?= s\b| rows/s| instances/s| bytes)|0\.\d{3,}", "N", line)


def play(name: str) -> tuple[str, str] | None:
    """The exit codes and the last lines of a fault; None where this machine cannot make it."""
    with tempfile.TemporaryDirectory() as place:
        scene = Scene(Path(place).resolve() / "scene")
        try:
            answers = list(FAULTS[name](scene))
        except CannotBeMadeError:
            return None
        for answer in answers:
            for word in ("Traceback", "Exception ignored", "Logging error", "HYDRA_FULL_ERROR"):
                assert word not in answer.out + answer.err, f"{name}: {answer.err or answer.out}"
        shown = [answer for answer in answers if answer.shown]
        return ", ".join(str(answer.code) for answer in shown), "; ".join(
            cell(line) if (line := said(answer, scene.folder)) else "nothing" for answer in shown
        )


def rows_of(page: str) -> dict[str, str]:
    """The faults that a page tells of, and their rows."""
    rows = page.removeprefix(HEAD).splitlines()
    return {row.removeprefix("| ").rpartition(" | ")[0].rpartition(" | ")[0]: f"{row}\n" for row in rows}


def page_of(rows: dict[str, str]) -> str:
    """The page with these rows of faults, in the order of their list."""
    return HEAD + "".join(rows[name] for name in FAULTS if name in rows)


def main() -> None:
    """Play faults and write the page."""
    rows = rows_of(PAGE.read_text()) if PAGE.is_file() else {}
    names = [name for name in FAULTS if not sys.argv[1:] or sys.argv[1] in name]
    failed = []
    for name in names:
        try:
            answer = play(name)
        except AssertionError as error:
            failed.append(name)
            print(f"{name}: ends in a traceback\n{error}", flush=True)
            continue
        print(name, answer, flush=True)
        if answer is not None:
            rows[name] = f"| {name} | {answer[0]} | {answer[1]} |\n"
            PAGE.write_text(page_of(rows))
    if failed:
        sys.exit(f"{len(failed)} faults end in a traceback: {', '.join(failed)}")


if __name__ == "__main__":
    main()
