"""Changes of folds, bags, minibatches, the protocol and training."""

from tests.mutants.of_methods import DRAWS, in_file

BAGS = "tests/unit/data/test_bags.py"
FOLDS = "tests/unit/data/test_folds.py tests/parity/test_folds_and_bags.py"
TRAINING = "tests/unit/training/test_training.py"
ANALYSIS = "tests/unit/analysis/test_clusters.py tests/unit/analysis/test_hardness_measures.py tests/unit/analysis/test_kept.py"

MUTANTS = [
    *in_file(
        "data/folds", FOLDS,
        ("FOLD_SEED = 42", "FOLD_SEED = 43"), ("    np.random.RandomState(FOLD_SEED).shuffle(order)\n", ""),
        ("np.flatnonzero(~in_test), np.flatnonzero(in_test)", "np.flatnonzero(in_test), np.flatnonzero(~in_test)"), ("np.array_split(order, N_FOLDS)[fold]", "np.array_split(order, N_FOLDS)[4 - fold]"),
    ),
    *in_file(
        "data/build_bags", f"{BAGS} {DRAWS}",
        ("sizes >= (key.low_thresh or 0)", "sizes > (key.low_thresh or 0)"),
        ("sizes <= (key.high_thresh or len(rows))", "sizes < (key.high_thresh or len(rows))"),
        ("ordered = rng.permutation(rows)", "ordered = np.roll(rows, rng.integers(len(rows)))"),
        ("groups = rng.permutation(len(offsets) - 1)", "groups = np.arange(len(offsets) - 1)"),
        ("rows[test])", "rows[train])"),
        ("np.arange(table.n_rows), np.random.default_rng(key.seed or 0))", "np.arange(table.n_rows), np.random.default_rng(0))"),
        ("_runs(table, key, train, np.random.default_rng([key.seed or 0, fold])), test)\n\n\ndef given_bags",
         "_runs(table, key, train, np.random.default_rng([key.seed or 0, 0])), test)\n\n\ndef given_bags"),
        ("_runs(table, key, train, np.random.default_rng([key.seed or 0, fold])), test)\n\n\ndef given_bags",
         "_runs(table, key, train, np.random.default_rng([0, fold])), test)\n\n\ndef given_bags"),
    ),
    *in_file("data/bags", BAGS, ("self.label_sum.sum() / len(self.rows)", "(self.label_sum / self.sizes).mean()"),
             ("np.repeat(starts - begin, sizes)", "np.repeat(starts, sizes)")),
    *in_file(
        "data/minibatches", f"{DRAWS} tests/unit/data/test_datamodule.py",
        ('keyed_seed(self._seed, "bag order", epoch)', 'keyed_seed(self._seed, "bag order")'),
        ('keyed_seed(self._seed, "bag order", epoch)', 'keyed_seed(0, "bag order", epoch)'),
        ("self.per_epoch = -(-n_items // batch_size)", "self.per_epoch = n_items // batch_size"),
        ("bags.label_sum[ids].astype", "np.sort(bags.label_sum[ids]).astype"),
    ),
    *in_file(
        "data/datamodule", f"{DRAWS} tests/unit/data/test_datamodule.py",
        ("max(1, round(held_out * len(bags)))", "round(held_out * len(bags))"),
        ("max(1, round(held_out * len(bags)))", "max(1, int(held_out * len(bags)))"),
        ('keyed_seed(seed, "held-out bags")', 'keyed_seed(0, "held-out bags")'),
        ("bags.select(kept), bags.select(held)", "bags, bags.select(held)"),
        ('if self.protocol == "paper":\n            return self.test_dataloader()', "if self.protocol:\n            return self.test_dataloader()"),
    ),
    *in_file("data/bag_order", "tests/unit/data/test_bag_order.py -k another_copy", ("hashlib.blake2b(order.data, digest_size=8).hexdigest()", "str(len(order))")),
    *in_file(
        "data/prior", "tests/unit/data/test_prior.py -k wrong_scores",
        ("if len(prior) != table.n_rows:", "if len(prior) < table.n_rows:"), ("is_finite().fill_null(False)", "is_finite().fill_null(True)"),
    ),
    *in_file("data/given_bags", "tests/unit/datasets/files/test_bags.py -k whole_bags", ("np.flatnonzero(bag != NO_BAG)", "np.flatnonzero(bag >= NO_BAG)")),
    *in_file("data/datamodule", "tests/unit/data/test_train_split.py",
             ("bags = self.train_bags if order is None else", "bags = self.held_out_bags if order is None else")),
    *in_file("seeding", DRAWS, ("repr((seed, purpose, *position))", "repr((seed, *position))"),
             ("repr((seed, purpose, *position))", "repr((purpose, *position))"),
             ("repr((seed, purpose, *position))", "repr((seed, purpose, sum(position)))")),
    *in_file("runs/build", DRAWS, ('keyed_seed(config.seed, "initial weights")', 'keyed_seed(0, "initial weights")')),
    *in_file(
        "training/callbacks", TRAINING,
        ('value > than if self.mode == "max" else value < than', 'value < than if self.mode == "max" else value > than'),
        ('value > than if self.mode == "max" else value < than', 'value >= than if self.mode == "max" else value <= than'),
        ("return not math.isnan(value)", "return False"),
        ("self.value, self.epoch = value, trainer.current_epoch", "self.value, self.epoch = value, trainer.current_epoch + 1"),
        ('"held_out_loss" if of_rows else f"held_out_{select_by}", "min"', '"held_out_loss" if of_rows else f"held_out_{select_by}", "max"'),
        ("self.weights[name].copy_(weight)", "pass"),
    ),
    *in_file(
        "training/stage", TRAINING,
        ("patience=patience, check_finite", "patience=patience + 1, check_finite"),
        ("stopper.wait_count >= patience", "stopper.wait_count > patience"),
        ("method.model.load_state_dict(best.weights)", "pass"),
    ),
    *in_file(
        "analysis/clusters", ANALYSIS,
        ("n_init=10", "n_init=1"), ("TAIL_PERMILLES = (500, 700, 850, 950)", "TAIL_PERMILLES = (500, 700, 850)"),
        ("StandardScaler().fit_transform(values[defined])", "values[defined]"),
        ("np.argsort(np.argsort(values))", "np.argsort(np.argsort(-values))"), ("KMEANS_SEED = 42", "KMEANS_SEED = 0"),
    ),
    *in_file("analyze", ANALYSIS, ('["percent_instances_kept"] >= instance_thresh', '["percent_instances_kept"] > instance_thresh'),
             ('counted["n_bags_kept"] > 0 and', "")),
    *in_file(
        "analysis/hardness", ANALYSIS,
        ("counts.size >= (low_thresh or 0)", "counts.size > (low_thresh or 0)"),
        ("counts.size <= (high_thresh or np.inf)", "counts.size < (high_thresh or np.inf)"),
        ("float(values.std())", "float(values.std(ddof=1))"),
        ("len(ordered) * permille // 1000", "(len(ordered) - 1) * permille // 1000"),
        ("counts.size > (high_thresh or np.inf)", "counts.size >= (high_thresh or np.inf)"),
        ("proportion < epsilon", "proportion <= epsilon"),
        ("float(label_sum.sum() / size.sum())", "float((label_sum / size).mean())"),
        ("ways + xlogy(label_sum, p)", "xlogy(label_sum, p)"),
        ("size * p * (1 - p))).sum()", "size * p)).sum()"),
        ("chi2 / size.sum()", "chi2 / len(size)"),
    ),
]  # fmt: skip
