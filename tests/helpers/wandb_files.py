"""Offline files of Weights & Biases, read back by its own reader."""

import json
import subprocess
import sys


def records(path):
    """The records of an offline run's file, as W&B's own reader prints them."""
    command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", path]
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
