"""Shell completion in a real bash, with the lines that `--shell-completion install=bash` prints."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from llp.config.grouping_keys import CONF_DIR

SCRIPT = """
eval "$(python -m llp.train --shell-completion install=bash)"
complete_line() {
  COMPREPLY=()
  COMP_LINE="$1"; COMP_POINT=${#1}; COMP_WORDS=($1); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
  hydra_bash_completion
  echo "${COMPREPLY[@]}"
}
complete_line "python llp/train.py grouping_key=C3_"
complete_line "python llp/train.py method=dllp"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_keys_and_methods_are_completed():
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", SCRIPT], env=env, cwd=CONF_DIR.parent, capture_output=True, text=True, check=False
    )
    keys, methods = (line.split() for line in done.stdout.splitlines())
    assert {"grouping_key=C3_C4", "grouping_key=C3_C26"} <= set(keys), done.stderr
    assert all(key.startswith("grouping_key=C3_") for key in keys)
    assert "grouping_key=C3_C3" not in keys
    assert methods == ["method=dllp_bce", "method=dllp_mae", "method=dllp_mse"]
