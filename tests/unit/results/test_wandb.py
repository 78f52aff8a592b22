"""The report and the workspace for Weights & Biases, offline."""

import json

import pytest

from llp.results.workspace import build_workspace, spec_of
from tests.helpers.records import write_folds
from tests.helpers.wandb_files import runs_in


def test_a_report_is_one_run_with_tables_figures_page_and_artifact(command):
    write_folds(command.outputs_dir, [0.6, 0.7])
    options = ["logger=wandb", "mode=offline", "project=mine", "tables=[scores,completeness]", "figures=[scores]"]
    done = command(*options, module="llp.report")
    assert done.returncode == 0, done.stderr
    [told] = runs_in(command.outputs_dir)
    assert (told["run"]["project"], told["run"]["job_type"]) == ("mine", "report")
    [row] = told["history"]
    logged = {name.removesuffix("._type"): kind for name, kind in row["item"].items() if name.endswith("._type")}
    assert logged == {
        "tables/flights_paper_auc_scores": "table-file",
        "tables/flights_completeness": "table-file",
        "figures/flights_paper_auc_scores": "image-file",
        "page": "html-file",
    }
    assert "artifact" in told["types"]
    assert "logged to W&B: 3 tables and figures" in done.stdout + done.stderr


def panels_of(spec):
    return {section["name"]: section["panels"] for section in spec["spec"]["section"]["panelBankConfig"]["sections"]}


@pytest.fixture(scope="module")
def spec():
    return spec_of(build_workspace("lab", "mine", "LLP methods"))


def test_the_workspace_is_what_its_own_schema_takes(spec):
    from wandb_workspaces.workspaces.internal import View

    again = View.model_validate(json.loads(json.dumps(spec)))
    assert again.model_dump(mode="json", by_alias=True, exclude_none=True) == spec
    assert (spec["entity"], spec["project"], spec["displayName"]) == ("lab", "mine", "LLP methods")


def test_offline_the_command_says_what_would_be_made_and_writes_the_spec(command, tmp_path):
    done = command("project=mine", "mode=offline", f"save={tmp_path}/spec.json", module="llp.dashboard")
    assert done.returncode == 0, done.stderr
    assert "offline, so nothing is sent; a workspace 'LLP methods' of ENTITY/mine would hold:" in done.stdout
    assert "Curves: Test AUC by epoch; Test MSE by epoch" in done.stdout
    assert panels_of(json.loads((tmp_path / "spec.json").read_text())).keys() == {"Scores", "Curves", "Settings"}
    folder = command("project=mine", "mode=offline", f"save={tmp_path}", module="llp.dashboard")
    assert folder.stderr == f"Invalid save='{tmp_path}': expected a file, not a folder, such as save=workspace.json\n"
