"""`COMMAND | head -1`: the reader leaves, the work is done to its end, and nothing is said about it."""

import pytest

from tests.helpers.commands import TINY
from tests.helpers.records import write_folds

pytestmark = pytest.mark.stops

KEYS = ("dataset=synthetic", "dataset.rows=2000", "dataset.vocab_fraction=1e-4", "bag_sizes=[64]", "key_size=1")
JOBLIB = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "fold=0,1")
COMMANDS = {
    "train": (["llp.train", *TINY], "synthetic/**/result.json"),
    "train, joblib": (["llp.train", "-m", *TINY, *JOBLIB], "synthetic/**/fold=1/**/result.json"),
    "prepare": (["llp.prepare", *KEYS[:3], "data_dir=outputs"], "*/schema.json"),
    "analyze": (["llp.analyze", *KEYS], "analysis/synthetic/analysis.csv"),
    "report": (["llp.report"], "report/report.md"),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_work_is_done_after_its_reader_has_left(command, case):
    (module, *arguments), written = COMMANDS[case]
    write_folds(command.outputs_dir, [0.6, 0.7])
    process = command.start(*arguments, module=module)
    assert process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    assert (process.wait(timeout=120), err) == (0, "")
    assert len(list(command.outputs_dir.glob(written))) == 1
