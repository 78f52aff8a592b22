"""Commands whose processes are killed at random moments and started again: what they make is as if undisturbed."""

import random
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.helpers.commands import TINY, Command
from tests.helpers.cutting import content, contents
from tests.helpers.grids import KEYS, write_analysis, write_grid
from tests.helpers.raw import write_ctr

pytestmark = pytest.mark.stops

LONGEST_CHAIN = 4  # kills of a command before it may end
RAW_ROWS = 50_000
GRID = ("-m", *TINY, "method=dllp_bce,sim_llp", "protocol=paper,holdout", "fold=0", "save_model=true")
JOBLIB = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
RAW = ("dataset=criteo_ctr", "raw=train.txt")


@dataclass(frozen=True)
class Scene:
    """A command, how often the slow test kills it, and which of its files stay as they are once they are there."""

    kills: int
    module: str
    arguments: tuple[str, ...]
    kept: str

    @property
    def forced(self):
        """Whether it makes again what is there."""
        return "force=true" in self.arguments


def training(kills, *arguments):
    return Scene(kills, "llp.train", (*GRID, *arguments), "**/result.json")


def preparation(kills, *arguments):
    return Scene(kills, "llp.prepare", arguments, "[!.]*/**/*")


SCENES = {
    "train": training(7, "checkpoint_minutes=0"),
    "train, workers": training(7, "checkpoint_minutes=0", "num_workers=2"),
    "train, workers, few checkpoints": training(6, "num_workers=2"),
    "train on the device": training(4, "checkpoint_minutes=0", "hardware.features_on=device"),
    "train on the device, few checkpoints": training(6, "hardware.features_on=device"),
    "train by joblib": training(5, "checkpoint_minutes=0", *JOBLIB),
    "train again": training(3, "checkpoint_minutes=0", "force=true"),
    "prepare made data": preparation(4, "dataset=synthetic", "dataset.rows=50000", "dataset.vocab_fraction=0.01"),
    "prepare a raw file": preparation(4, *RAW),
    "prepare a raw file again": preparation(4, *RAW, "force=true"),
    "analyze": Scene(5, "llp.analyze", (*TINY[:3], "key_size=1", "bag_sizes=[64]"), "analysis/*/keys/**/[!.]*.json"),
    "report": Scene(5, "llp.report", (), "report/**/[!.]*"),
}  # 60 kills in all


@dataclass
class Stage:
    """Where a scene is played: folders of its own, and what the undisturbed command made there in how many seconds."""

    scene: Scene
    data_dir: Path
    folder: Path

    def __post_init__(self):
        if "raw=train.txt" in self.scene.arguments:
            write_ctr(self.folder / "train.txt", RAW_ROWS, vocab_fraction=0.01, tail_values=10**6)
        self.whole = self.folder / "whole"
        self.prepare(self.whole)
        begin = time.monotonic()
        self.end(self.whole)
        self.seconds = time.monotonic() - begin
        self.expected = contents(self.whole)

    def prepare(self, place):
        """Put there what the command starts from."""
        if self.scene.module == "llp.report":
            write_grid(place, keys=KEYS[:2], methods=("dllp_bce", "sim_llp"), folds=2)
            write_analysis(place, keys=KEYS[:2])
        elif self.scene.forced and place != self.whole:
            shutil.copytree(self.whole, place)

    def command(self, place):
        """The command that works in a place."""
        data_dir = place if self.scene.module == "llp.prepare" else self.data_dir
        return Command(data_dir, place, self.folder, timeout=600)

    def end(self, place):
        """Let the command come to its end."""
        done = self.command(place)(*self.scene.arguments, module=self.scene.module)
        assert done.returncode == 0, done.stderr

    def kill(self, place, after):
        """Start the command and kill all its processes; says whether they were still there."""
        return self.command(place).killed(after, *self.scene.arguments, module=self.scene.module)

    def kept(self, place):
        """Times of change of the files that stay, each of which is whole."""
        files = [path for path in place.glob(self.scene.kept) if path.is_file()]
        for path in files:
            assert content(path) == self.expected[str(path.relative_to(place))], path
        again = self.scene.forced or self.scene.module == "llp.report"
        return {} if again else {path: path.stat().st_mtime_ns for path in files}


def play(stage, kills, seed):
    """Kill the command in chains; after each chain it comes to its end, and all is as if undisturbed."""
    draw, killed, chain = random.Random(seed), 0, 0
    while killed < kills:
        place = stage.folder / f"chain{(chain := chain + 1)}"
        stage.prepare(place)
        kept = {}
        for number in range(min(draw.randint(1, LONGEST_CHAIN), kills - killed)):
            begin = time.monotonic()
            if not stage.kill(place, after=draw.uniform(0, stage.seconds)):
                if number == 0:  # the whole work was faster this time
                    stage.seconds = time.monotonic() - begin
                break
            killed += 1
            now = stage.kept(place)
            assert kept.items() <= now.items()
            kept = now
        stage.end(place)
        assert contents(place) == stage.expected
        assert kept.items() <= stage.kept(place).items()
        shutil.rmtree(place)


@pytest.mark.parametrize("name", ["train", "prepare a raw file", "analyze", "report"])
def test_killed_twice(tmp_path, data_dir, name):
    play(Stage(SCENES[name], data_dir, tmp_path), kills=2, seed=0)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", SCENES)
def test_killed_often(tmp_path, data_dir, name):
    play(Stage(SCENES[name], data_dir, tmp_path), kills=SCENES[name].kills, seed=name)
