"""All commands by one name: `llp train method=dllp_bce` is `python -m llp.train method=dllp_bce`."""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from llp import __version__, signals
from llp.errors import choice, invalid, nearest

COMMANDS = {
    "demo": "train a small grid on real flights and end with the path of a page of tables and figures",
    "prepare": "write a dataset's table from raw files or files of your own",
    "train": "train one run, or with -m a grid of them; what is finished is skipped, what was cut off resumes",
    "status": "tell what of a grid is finished, under way, failed or left",
    "report": "make tables, figures and a page of the finished runs",
    "analyze": "measure the bag datasets of a table: sizes, label proportions, separations, clusters",
    "predict": "score new rows with finished runs",
    "export": "write a finished run's model as files that need no llp",
    "new": "write the package of a method of your own: its code, its options, its test",
    "check": "hold a method to what every method keeps: gradients, order, resuming, no label read",
}


def main() -> None:
    """Become the command that the first word names, with the others as its arguments."""
    signals.exit_at_once()
    name, *arguments = sys.argv[1:] or ["--help"]
    if name in ("-h", "--help"):
        shown = "\n".join(f"  {one:<11}{what}" for one, what in COMMANDS.items())
        print(f"llp COMMAND [OPTION=VALUE ...]\n\n{shown}\n\nllp COMMAND --help lists a command's options.")
    elif name == "--version":
        print(f"llp-bench {__version__}")
    elif name in COMMANDS and not {"-sc", "--shell-completion"} & {*arguments}:
        _become(name, arguments)
    elif name in COMMANDS or name in ("-sc", "--shell-completion"):
        _complete(arguments[-1] if arguments else "")
    else:
        example = f"llp {nearest(name, COMMANDS)} [OPTION=VALUE ...]"
        sys.exit(str(invalid("command", name, choice([*COMMANDS]), example)))


def _become(name: str, arguments: Sequence[str]) -> NoReturn:
    os.execv(sys.executable, [sys.executable, "-m", f"llp.{name}", *arguments])


def _complete(asked: str) -> None:
    """Print a shell's lines for completing `llp`; of a line that it completes, the words that fit."""
    action, _, shell = asked.partition("=")
    line = os.environ.get("COMP_LINE")
    if action == "query" and line is not None:
        program, name, *rest = [*line.split(maxsplit=2), "", ""][:3]
        if name in COMMANDS and (rest[0] or line[-1:].isspace()):
            os.environ["COMP_LINE"] = f"{program} {rest[0]}"
            _become("train" if name in ("demo", "check") else name, ["-sc", asked])
        print(*(one for one in COMMANDS if one.startswith(name)))
    elif action in ("install", "uninstall") and shell in ("bash", "zsh", "fish"):
        from importlib import import_module

        plugin = getattr(
            import_module(f"hydra._internal.core_plugins.{shell}_completion"), f"{shell.title()}Completion"
        )
        sys.argv[0] = "llp"  # whose arguments the lines complete
        getattr(plugin(None), action)()
    else:
        sys.exit(
            str(invalid("--shell-completion", asked, "install or uninstall of bash, zsh or fish", "-sc install=bash"))
        )


if __name__ == "__main__":
    main()
