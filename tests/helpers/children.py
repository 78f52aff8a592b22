"""Runs many commands, each in a process of its own, for the price of one import.

`python children.py` imports what takes seconds once. Then each line of its input is a JSON list of
`{"code", "arguments", "env", "cwd"}`, `code` being a command's module or the path of a script: it forks a child for
each, one after another, and writes a line with the list of `{"code", "out", "err"}`.
"""

import contextlib
import importlib
import json
import os
import runpy
import signal
import sys
import tempfile
import traceback
from pathlib import Path

# what takes seconds; not the commands themselves, which register their parts with Hydra: one process runs one command
SLOW_IMPORTS = ("hydra", "polars", "sklearn.cluster", "llp.training.stage", "llp.runs.outcome")


def run(code, arguments, env, cwd):
    """Run one command or script in a child and wait for it."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            os.setpgid(0, 0)
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.environ.clear()
            os.environ.update(env)
            sys.path[:0] = [place for place in env["PYTHONPATH"].split(os.pathsep) if place not in sys.path]
            os.chdir(cwd)
            if code.endswith(".py"):
                os._exit(end_of(lambda: runpy.run_path(code, run_name="__main__")))
            module = importlib.import_module(code)
            sys.argv = [module.__file__, *arguments]
            os._exit(end_of(module.main))
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(ProcessLookupError):  # a launcher's workers, which outlive os._exit
            os.killpg(child, signal.SIGTERM)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    return {"code": os.waitstatus_to_exitcode(status), "out": texts[0], "err": texts[1]}


def end_of(main):
    """Run a command's main function as the interpreter would, and give its exit code."""
    code = 1
    try:
        main()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    sys.path.remove(str(Path(__file__).parent))  # only what a user's process has
    for name in SLOW_IMPORTS:
        importlib.import_module(name)
    for jobs in sys.stdin:
        print(json.dumps([run(**job) for job in json.loads(jobs)]), flush=True)
