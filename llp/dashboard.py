"""A workspace of Weights & Biases for a project's runs: `python -m llp.dashboard project=llp-bench`."""

from llp import signals

if __name__ == "__main__":
    signals.exit_at_once()  # before the imports, which take seconds

import json
from pathlib import Path

from llp.config.commands import DashboardConfig
from llp.config.hydra_main import command_of
from llp.errors import InputError, invalid
from llp.files import write_atomically
from llp.results.workspace import build_workspace, spec_of
from llp.runs.tracking import wandb_mode


@command_of(DashboardConfig)
def main(config: DashboardConfig) -> None:
    """Save the workspace to W&B where a key is configured; write its spec where `save` names a file."""
    if config.save is not None and Path(config.save).is_dir():
        raise invalid("save", config.save, "a file, not a folder", "workspace.json")
    try:
        import wandb_workspaces  # noqa: F401
    except ImportError:
        raise InputError("llp.dashboard needs wandb-workspaces: pip install 'llp-bench[dashboard]'") from None
    online = wandb_mode(config.mode) == "online"
    entity = config.entity or (_default_entity() if online else "ENTITY")
    workspace = build_workspace(entity, config.project, config.name)
    if config.save is not None:
        text = json.dumps(spec_of(workspace), indent=1)
        write_atomically(Path(config.save), lambda path: path.write_text(text, encoding="utf-8"))
        print(f"spec written: {config.save}")
    if online:
        print(f"workspace saved: {_save(workspace)}")
        return
    print(f"offline, so nothing is sent; a workspace {config.name!r} of {entity}/{config.project} would hold:")
    for section in workspace.sections:
        print(f"  {section.name}: {'; '.join(panel.title for panel in section.panels)}")
    print("  run table: grouped by dataset, then by dataset, key and method")


def _default_entity() -> str:
    import wandb

    try:
        return str(wandb.Api().default_entity)
    except (wandb.Error, ValueError) as error:
        raise InputError(f"W&B does not say whose project it is ({error}); write entity=YOUR_TEAM") from None


def _save(workspace: object) -> str:
    import wandb

    try:
        return str(workspace.save().url)  # type: ignore[attr-defined]
    except (wandb.Error, ValueError, OSError) as error:
        raise InputError(f"W&B refuses the workspace: {' '.join(str(error).split())}") from None


if __name__ == "__main__":
    main()
    signals.ignore()
