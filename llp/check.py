"""Whether a method, of anyone's package too, keeps what every method keeps: `python -m llp.check method=NAME`."""

import functools
import logging
import sys

from llp import machine, signals

if __name__ == "__main__":
    signals.exit_at_once()  # before the imports, which take seconds
    machine.prefer_speed()

from llp.command import command
from llp.errors import InputError

USAGE = "llp check method=NAME [OPTION=VALUE ...]   (as llp train takes them; llp check NAME is short)"


@functools.partial(command, resumes=False)
def main() -> None:
    """Print a line of each finding; exit code 1 where something is not kept."""
    words = sys.argv[1:]
    if not words or {"-h", "--help"} & {*words}:
        print(USAGE)
        return
    from llp.conformance.findings import findings

    logging.disable(logging.INFO)
    named = [word.removeprefix("method=") for word in words if word.startswith("method=") or "=" not in word]
    others = [word for word in words if "=" in word and not word.startswith("method=")]
    shown, failed = "", 0
    try:
        if len(named) != 1:
            raise InputError(f"Invalid arguments: expected {USAGE.partition('   ')[0]}, such as llp check method=upm")
        for kind, check, kept, said in findings(named[0], *others):
            if kind != shown:
                print(f"{named[0]}, {kind} labels")
            print(f"  {'kept' if kept else 'FAILED':<7} {check:<12} {said}", flush=True)
            shown, failed = kind, failed + (not kept)
    except (InputError, OSError) as error:
        sys.exit(str(error))
    if failed:
        sys.exit(f"{failed} failed")


if __name__ == "__main__":
    main()
    signals.ignore()
