"""The package of a method of one's own, a plug-in: `python -m llp.new method NAME [FOLDER]`."""

import keyword
import re
import sys
from pathlib import Path

from llp.config.grouping_keys import CONF_DIR, options
from llp.config.sources import plugins
from llp.errors import InputError, invalid

USAGE = "llp new method NAME [FOLDER]"
FILES = Path(__file__).parent / "templates" / "method"  # each ends in .txt; NAME and CLASS stand for the method's own


def write_package(name: str, folder: Path) -> None:
    """Write a package whose method has a name; InputError where the name or the folder is in use."""
    known = options("method", [CONF_DIR, *plugins().values()])
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name) or name in known:
        expected = "a name of small letters, digits and _ that no method has yet, such as llp new method my_method"
        raise invalid("method", name, expected)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise invalid("folder", str(folder), f"one that is empty or not there, such as llp new method {name} my_folder")
    for path in FILES.rglob("*.txt"):
        place = folder / str(path.relative_to(FILES).with_suffix("")).replace("NAME", name)
        text = path.read_text(encoding="utf-8").replace("NAME", name).replace("CLASS", name.title().replace("_", ""))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def main() -> None:
    """Write the package that the command line names, and say what to do next."""
    words = sys.argv[1:]
    if {"-h", "--help"} & {*words}:
        print(USAGE)
        return
    try:
        if not (words[:1] == ["method"] and len(words) in (2, 3)):
            raise InputError(f"Invalid arguments: expected {USAGE}, such as llp new method my_method")
        name, folder = words[1], Path(words[-1])
        write_package(name, folder)
    except (InputError, OSError) as error:
        sys.exit(str(error))
    print(f"{folder}: the method is llp_{name}/method.py, its options llp_{name}/conf/method/{name}.yaml")
    print(f"next: pip install --editable {folder}; llp check {name}; pytest {folder}; llp train method={name}")


if __name__ == "__main__":
    main()
