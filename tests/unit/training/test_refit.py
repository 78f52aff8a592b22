"""The final model is trained anew on all train bags, for as many steps as the chosen epoch took."""

import numpy as np
import pytest
import torch

from llp.data.minibatches import gather_bags
from llp.seeding import keyed_seed
from tests.helpers.composed import checked, grouping_key, open_table, run_of, run_one, start_of
from tests.helpers.cutting import CutOffError, checkpoints_at_random_epochs, contents, moments, untimed_record

REFIT = ("protocol=holdout", "protocol.refit=true", "save_model=true")


def kept(config, name="best.pt"):
    return torch.load(run_of(config).folder / "checkpoints" / name, weights_only=True)


def trained_by_hand(config, steps):
    """Weights after a number of steps on all train bags, without Lightning, data module or callback."""
    table = open_table(config)
    method, _ = start_of(config, table, refit=True)
    bags = grouping_key(config).fold_bags(table, config.fold, checked(config).repeat).train
    per_batch, optimizer = config.trainer.bags_per_batch, method.configure_optimizers()
    per_epoch = -(-len(bags) // per_batch)
    for step in range(steps):
        epoch, place = divmod(step, per_epoch)
        order = np.random.default_rng(keyed_seed(checked(config).draw_seed, "bag order", epoch)).permutation(len(bags))
        optimizer.zero_grad()
        method.minibatch_loss(gather_bags(table, bags, order[place * per_batch :][:per_batch])).backward()
        optimizer.step()
    return method.model.state_dict()


@pytest.mark.parametrize("epochs", [1, 6])
def test_the_kept_model_is_trained_on_all_train_bags_for_the_steps_of_the_chosen_epoch(tiny, epochs):
    words = (f"trainer.max_epochs={epochs}", "trainer.patience=9", "optimizer.lr=0.003", "protocol.held_out=0.2")
    config = tiny(*REFIT, *words)
    record = run_one(config)
    assert record.refit.steps == 3 * (record.metric.best_epoch + 1)  # 20 bags; all 25 have 4 minibatches an epoch
    assert record.refit.steps > 4 or epochs == 1
    assert (record.refit.bags, record.refit.instances, record.n_train_bags) == (25, 1600, 20)
    by_hand, found = trained_by_hand(config, record.refit.steps), kept(config)
    assert found.keys() == by_hand.keys()
    for name, weight in found.items():
        torch.testing.assert_close(weight, by_hand[name], rtol=1e-6, atol=1e-7)
    plain = tiny(*REFIT, *words, "protocol.refit=false")
    without = run_one(plain)
    assert without.refit is None
    assert all(torch.equal(weight, kept(plain)[name]) for name, weight in kept(config, "chosen.pt").items())
    assert without.metric.held_out == record.metric.held_out
    assert without.measures != record.measures  # of the test rows: each of its own kept model


def test_feature_and_given_bags_are_refitted_unless_it_is_said_otherwise(tiny):
    asked = {
        ("grouping_key=C1_C2",): True,
        ("grouping_key=given",): True,
        ("grouping_key=random_64",): False,
        ("grouping_key=fixed_C1_C2_64",): False,
        ("grouping_key=random_64", "protocol.refit=true"): True,
        ("grouping_key=C1_C2", "protocol.refit=false"): False,
    }
    assert {words: checked(tiny("protocol=holdout", *words)).refits for words in asked} == asked
    assert not checked(tiny("grouping_key=C1_C2")).refits


def test_prior_is_that_of_all_train_bags(tiny):
    config = tiny("method=group_prior", *REFIT[:2])
    record = run_one(config)
    assert (record.refit.steps, record.refit.bags) == (0, 25)


@pytest.mark.parametrize("method", ["dllp_bce", "hard_erot_llp"])
def test_refit_that_was_cut_off_ends_as_one_that_was_not(tiny, tmp_path, method):
    """Cut at its first minibatch, within an epoch, after one, and at its last; the search is not done again."""
    chosen = (*REFIT, f"method={method}", "trainer.max_epochs=5", "trainer.patience=2", "trainer.bags_per_batch=4")
    with moments() as seen:
        config = tiny(*chosen, f"outputs_dir={tmp_path / 'whole'}")
        whole = untimed_record(run_one(config).model_dump())
    steps = whole["refit"]["steps"]
    in_refit = [i for i in range(len(seen)) if seen[i:].count("minibatch") <= steps]
    assert seen[in_refit[0] - 1 :][:2] != ["minibatch", "minibatch"]  # what comes before is another training's end
    epochs = [i for i in in_refit[1:] if seen[i] == "epoch"]
    files = contents(tmp_path / "whole")
    kept_weights = [name for name in files if name.endswith(".pt")]
    assert len(kept_weights) == 2 * len(list((tmp_path / "whole").rglob("result.json")))
    for number, moment in enumerate((in_refit[1], epochs[0] - 1, epochs[0], len(seen) - 2)):
        cut = tiny(*chosen, f"checkpoint_minutes={number % 2}", f"outputs_dir={tmp_path / f'cut {number}'}")
        with checkpoints_at_random_epochs(number):
            with moments(cut=moment), pytest.raises(CutOffError):
                run_one(cut)
            with moments() as again:
                assert untimed_record(run_one(cut).model_dump()) == whole
        assert again.count("minibatch") <= steps
        assert contents(tmp_path / f"cut {number}") == files


def test_damaged_choice_is_made_again(tiny, tmp_path, caplog):
    with moments() as seen:
        whole = untimed_record(run_one(tiny(*REFIT, f"outputs_dir={tmp_path / 'whole'}")).model_dump())
    config = tiny(*REFIT, "checkpoint_minutes=60")
    with moments(cut=len(seen) - 2), pytest.raises(CutOffError):
        run_one(config)
    path = run_of(config).folder / "checkpoints" / "chosen.ckpt"
    path.write_bytes(path.read_bytes()[:-50])
    assert untimed_record(run_one(config).model_dump()) == whole
    assert "chosen.ckpt is damaged" in caplog.text
    assert contents(tmp_path / "whole") == contents(tmp_path / "outputs")


def test_second_stage_starts_its_search_from_weights_that_have_not_seen_what_is_held_out(tiny, tmp_path, monkeypatch):
    import llp.runs.build

    loaded = []
    load = llp.runs.build.load_weights
    monkeypatch.setattr(
        llp.runs.build, "load_weights", lambda model, folder, name: loaded.append(name) or load(model, folder, name)
    )
    run_one(tiny(*REFIT, "method=hard_erot_llp", "trainer.max_epochs=2"))
    assert loaded == ["chosen.pt", "best.pt"]
