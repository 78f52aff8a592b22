"""Runs many commands, each in a process of its own, for the price of one import.

`python children.py` reads a JSON list of `{"module", "arguments", "env", "cwd"}` from its input, imports the
commands once, forks a child for each and writes a list of `{"code", "out", "err"}`.
"""

import contextlib
import importlib
import json
import os
import signal
import sys
import tempfile
import traceback
from pathlib import Path


def run(module, arguments, env, cwd):
    """Run one command in a child and wait for it."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            os.setpgid(0, 0)
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os.environ.update(env)
            os.chdir(cwd)
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
    jobs = json.load(sys.stdin)
    modules = {name: importlib.import_module(name) for name in {job["module"] for job in jobs}}
    json.dump([run(modules[job["module"]], job["arguments"], job["env"], job["cwd"]) for job in jobs], sys.stdout)
