"""Shell completion in a real bash, with the lines that `--shell-completion install=bash` prints."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from llp.config.grouping_keys import CONF_DIR

SCRIPT = """
eval "$(llp -sc install=bash)"
complete_line() {
  COMPREPLY=()
  COMP_LINE="$1"; COMP_POINT=${#1}; COMP_WORDS=($1); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
  hydra_bash_completion
  echo "${COMPREPLY[@]}"
}
complete_line "python llp/train.py grouping_key=C3_"
complete_line "llp train method=dllp"
complete_line "llp st"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_keys_and_methods_are_completed(tmp_path):
    (tmp_path / "llp").write_text(f'#!/bin/sh\nexec {sys.executable} -m llp "$@"\n')
    (tmp_path / "llp").chmod(0o755)
    env = os.environ | {"PATH": f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", SCRIPT], env=env, cwd=CONF_DIR.parent, capture_output=True, text=True, check=False
    )
    keys, methods, commands = (line.split() for line in done.stdout.splitlines())
    assert commands == ["status"]
    assert {"grouping_key=C3_C4", "grouping_key=C3_C26"} <= set(keys), done.stderr
    assert all(key.startswith("grouping_key=C3_") for key in keys)
    assert "grouping_key=C3_C3" not in keys
    assert methods == ["method=dllp_bce", "method=dllp_mae", "method=dllp_mse"]
