"""The report for Weights & Biases, offline."""

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
