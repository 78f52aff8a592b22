"""A method that is written wrongly fails the check of its kind, and is told by what numbers."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from llp import check
from llp.conformance import findings, of_minibatches, of_trainings
from llp.conformance.case import Case, NotKeptError
from llp.methods.dllp import DLLP
from llp.ops.segment import pad_bags, segment_mean
from tests.helpers.composed import checked, open_table
from tests.helpers.every_method import case_of

OF_MINIBATCHES, OF_TRAININGS = {}, {}


def fails(name, said, kinds=OF_MINIBATCHES):
    """Mark a method class with the check that it fails, and what that says."""

    def mark(cls):
        kinds[cls.__name__] = (name, said)
        return cls

    return mark


@fails("finite", "pure bags, .* scores: the loss is (inf|nan), .* derivatives are not finite")
class Overflows(DLLP):
    def bag_loss(self, scores, batch):
        mean = segment_mean(scores.exp() / (1 + scores.exp()), batch.segment, batch.size)
        return -(batch.label_proportion * mean.log() + (1 - batch.label_proportion) * (1 - mean).log()).mean()


@fails("gradient", r"a derivative is \S+, numerically \S+; .* sets self.holds_constant = True")
class Detaches(DLLP):
    def bag_loss(self, scores, batch):
        gap = segment_mean(torch.sigmoid(scores), batch.segment, batch.size) - batch.label_proportion
        return (gap.detach().square() + gap.square()).mean()


@fails("permutation", r"instances in another order inside their bags: the loss is \S+ in place of \S+")
class CountsTheFirst(DLLP):
    def bag_loss(self, scores, batch):
        first = torch.cumsum(batch.size, 0) - batch.size
        return super().bag_loss(scores, batch) + torch.sigmoid(scores[first]).mean()


@fails("permutation", r"bags in another order: the loss is \S+ in place of \S+")
class WeighsByPlace(DLLP):
    def bag_loss(self, scores, batch):
        gap = segment_mean(torch.sigmoid(scores), batch.segment, batch.size) - batch.label_proportion
        return (torch.arange(len(gap)) * gap.square()).mean()


@fails("permutation", r"instances .*: on average over 200 steps' draws .* \d+ standard errors off")
class DrawsTheFirstMoreOften(DLLP):
    def bag_loss(self, scores, batch):
        drawn = torch.rand(len(scores), generator=self.generator("instances"))
        place = torch.arange(len(scores)) / len(scores)
        return super().bag_loss(torch.where(drawn > place, scores, 0), batch)


@fails("gradient", "a derivative is nan, numerically nan")
class IsNoNumber(DLLP):
    def bag_loss(self, scores, batch):
        return super().bag_loss(scores, batch) * torch.nan


@fails("permutation", "on average over 200 steps' draws .* is nan in place of nan")
class IsNoNumberInAnyOrder(IsNoNumber):
    pass


@fails("padding", r"sizes of other bags change a bag's gradient by \S+ of \S+")
class CountsPadding(DLLP):
    def bag_loss(self, scores, batch):
        mean = pad_bags(torch.sigmoid(scores), batch.segment, batch.size).mean(1)
        return (mean - batch.label_proportion).square().mean()


@fails("draws", r"the same step's loss is \S+, then \S+: draws come from self.generator\(PURPOSE\)")
class DrawsElsewhere(DLLP):
    def bag_loss(self, scores, batch):
        return super().bag_loss(scores, batch) * torch.rand(())


@fails("draws", "and state changes in after_step")
class ChangesItsState(DLLP):
    def bag_loss(self, scores, batch):
        self.weight = 2 * getattr(self, "weight", 1.0)
        return self.weight * super().bag_loss(scores, batch)


@fails("weights", r"the gradient of \S+ is 0.0")
class LearnsNothing(DLLP):
    def bag_loss(self, scores, batch):
        return super().bag_loss(scores.detach(), batch) + 0 * scores.sum()


@fails("weights", "temperature is a parameter of the method, which no step moves")
class HasAWeight(DLLP):
    def __init__(self, **shared):
        super().__init__(**shared)
        self.temperature = torch.nn.Parameter(torch.tensor(2.0))


@fails("repeat", r"trained again: .* differs", OF_TRAININGS)
class DrawsFromTheProcess(DLLP):
    def after_step(self):
        with torch.no_grad():
            next(self.model.parameters()).add_(1e-3 * np.random.rand())


@fails("resume", r"cut off in its second epoch and resumed: .* differs", OF_TRAININGS)
class ForgetsItsState(DLLP):
    average = 0.0

    def bag_loss(self, scores, batch):
        self.latest = torch.sigmoid(scores).mean().item()
        return super().bag_loss(scores * (1 + self.average), batch)

    def after_step(self):
        self.average = 0.9 * self.average + 0.1 * self.latest


@fails("labels", r"labels shuffled inside the train bags: .* differs", OF_TRAININGS)
class ReadsLabels(DLLP):
    def take_train_split(self, split):
        super().take_train_split(split)
        label = np.load(Path(split.features.categorical.filename).with_name("label.npy"))
        self.label_mean = float((label * split.features.categorical[:, 0]).mean())

    def bag_loss(self, scores, batch):
        return super().bag_loss(scores * (1 + self.label_mean), batch)


def written_by(config, name):
    """The config with a method class of this module."""
    method = config.method.model_copy(update={"target": f"{__name__}.{name}"})
    return config.model_copy(update={"method": method})


@pytest.mark.parametrize("name", OF_MINIBATCHES)
def test_a_wrong_loss_fails_its_check(name, tables):
    case = case_of("dllp_bce", "binary", tables)
    check, said = OF_MINIBATCHES[name]
    with pytest.raises(NotKeptError, match=said):
        getattr(of_minibatches, check)(Case(written_by(case.config, name), case.table, None))


@pytest.mark.run
@pytest.mark.parametrize("name", OF_TRAININGS)
def test_a_wrong_training_fails_its_check_and_no_other(name, tiny, tmp_path):
    config = written_by(checked(tiny("protocol=holdout", "checkpoint_minutes=0", "trainer.max_epochs=3")), name)
    case = Case(config, open_table(tiny()), tmp_path)
    wrong, said = OF_TRAININGS[name]
    for asked in (of_trainings.repeat, of_trainings.resume, of_trainings.labels):
        if asked.__name__ == wrong:
            with pytest.raises(NotKeptError, match=said):
                asked(case)
        elif wrong != "repeat":  # what does not repeat itself cannot be compared
            assert "to the bit" in asked(case)


def test_what_is_not_kept_ends_the_command_with_1(monkeypatch, capsys):
    found = [
        findings.Finding("binary", "finite", True, "fine"),
        findings.Finding("real", "draws", False, "0.1, then 0.2"),
    ]
    asked = []
    monkeypatch.setattr(findings, "findings", lambda *words: asked.append(words) or found)
    monkeypatch.setattr("sys.argv", ["llp", "hydra.searchpath=[pkg://mine]", "method=own", "method.power=1"])
    with pytest.raises(SystemExit, match=r"^1 failed$"):
        check.main()
    assert asked == [("own", "hydra.searchpath=[pkg://mine]", "method.power=1")]
    assert re.fullmatch(
        r"own, binary labels\n  kept +finite +fine\nown, real labels\n  FAILED +draws +0.1, then 0.2\n",
        capsys.readouterr().out,
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["method=nosuch"], r"^Invalid method='nosuch': expected .*, such as "),
        (["upm", "method=upm"], r"^Invalid arguments: expected llp check method=NAME \[OPTION=VALUE ...\], such as "),
        (["upm", "method.detach=7"], r"^Invalid method.detach=7: expected true or false"),
    ],
)
def test_wrong_words_end_the_command_with_a_line(monkeypatch, words, said):
    monkeypatch.setattr("sys.argv", ["llp", *words])
    with pytest.raises(SystemExit, match=said):
        check.main()


def test_a_method_that_breaks_fails_with_the_place_of_the_error(tables):
    case = case_of("dllp_bce", "binary", tables)
    broken = Case(written_by(case.config, "Breaks"), case.table, None)
    kept, said = findings._outcome(broken, of_minibatches.finite)
    assert not kept
    assert re.match(r"KeyError: 'weight' in Breaks.bag_loss \(.*, line \d+\)", said)


class Breaks(DLLP):
    def bag_loss(self, scores, batch):
        return {}["weight"]
