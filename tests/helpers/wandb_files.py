"""Offline files of Weights & Biases, read back by its own reader."""

import json
import subprocess

from wandb.util import get_core_path


def records(path):
    """The records of an offline run's file, as W&B's own reader prints them: `wandb leet inspect --json`."""
    command = [get_core_path(), "leet", "inspect", "--no-observability", "--json", "--run-file", path, path.parent]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def runs_in(folder):
    """What each offline run under a folder tells, by the order of their start."""
    runs = []
    for path in sorted(folder.rglob("run-*.wandb"), key=lambda path: path.stat().st_mtime_ns):
        told = {"history": [], "summary": {}, "metrics": [], "types": []}
        for record in records(path):
            kind = record["type"]
            told["types"].append(kind)
            content = record.get(kind, {})
            match kind:
                case "run" | "exit":
                    told.setdefault(kind, content)
                case "history":
                    told["history"].append(content)
                case "summary":
                    told["summary"] |= content.get("update", {})
                case "metric":
                    told["metrics"].append(content)
        runs.append(told)
    return runs
