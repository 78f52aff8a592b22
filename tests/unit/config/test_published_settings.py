"""Every default of a YAML file that a published result rests on, each with where it is from; none is left out."""

import pytest
from omegaconf import OmegaConf

from llp.config.grouping_keys import CONF_DIR, options

BENCHMARK = "LLP-Bench, arXiv 2310.10096, and its authors' code"
OWN = "chosen here; docs/methods.md or the comment beside it says why"
PROGRAM = {"_target_", "_partial_", "name", "labels", "defaults", "keep_model", "source", "prepare._target_"}

# file: (source, every option of it that is no name)
SETTINGS = {
    "method/count": ("Shukla et al., NeurIPS 2023: no option", {}),
    "method/debiased": ("arXiv 2509.15145, eq. 28", {"centre": "other_bags", "absolute": False}),
    "method/dllp_bce": (BENCHMARK, {"loss": "bce", "target": "proportion", "reduction": "mean"}),
    "method/dllp_mae": (BENCHMARK, {"loss": "mae", "target": "proportion", "reduction": "mean"}),
    "method/dllp_mse": (BENCHMARK, {"loss": "mse", "target": "proportion", "reduction": "mean"}),
    "method/dsq": (OWN, {"decay": 0.0}),
    "method/easy_llp": (
        "Busa-Fekete et al., 2023; the clip is Keras'",
        {"estimator": "bag_mean", "clip": 1e-7},
    ),
    "method/genbags": (
        "Saket et al., AISTATS 2022, and the benchmark authors' code for real labels",
        {
            "block_size": 4,
            "draws": 60,
            "residual": "${.by_label_kind.${dataset.label_kind}.residual}",
            "covariance": "${.by_label_kind.${dataset.label_kind}.covariance}",
            "by_label_kind.binary.residual": "sum",
            "by_label_kind.binary.covariance": "tetrahedron",
            "by_label_kind.real.residual": "mean",
            "by_label_kind.real.covariance": "reference",
        },
    ),
    "method/group_prior": ("no option", {}),
    "method/hard_erot_llp": (BENCHMARK, {"pseudo_labels": "hard", "reg": 0.2, "solver": "closed_form"}),
    "method/soft_erot_llp": (BENCHMARK, {"pseudo_labels": "soft", "reg": 0.2, "solver": "closed_form"}),
    "method/ot_llp": (BENCHMARK, {"solver": "closed_form"}),
    "method/instance_bce": (BENCHMARK, {"loss": "bce"}),
    "method/instance_mse": (BENCHMARK, {"loss": "mse"}),
    "method/llp_dc": ("public code TianhaoMa5/CVPR2026_Findings_LLP_DC", {"weight": 0.5, "threshold": 0.6}),
    "method/llp_mm": ("public code TianhaoMa5/LLP-MM", {"max_order": 8, "smoothing": 1e-4}),
    "method/llp_vat": (OWN, {"radius": 0.1, "weight": 1.0, "ramp_epochs": 2.0}),
    "method/llpfc": (OWN, {"noisy_prior": "uniform"}),
    "method/mean_map": ("Quadrianto et al., JMLR 2009", {"l2": 0.0}),
    "method/mixbag": (
        "Asanomi et al., ICCV 2023: half of the bags, a 99 % band",
        {"probability": 0.5, "tail": 0.005, "band": "weighted"},
    ),
    "method/rot": (
        "the definition of ROT in public code TianhaoMa5/LLP-MM",
        {"weight": 0.6, "reg": 1.0, "pseudo_labels": "hard", "solver": "closed_form"},
    ),
    "method/sim_llp": (
        "Kotzias et al., KDD 2015, eq. 3; numbers of the benchmark authors' code",
        {"pair_instances": 400, "bag_weight": 2.0, "squash": "none", "weighting": "pairwise"},
    ),
    "method/upm": ("arXiv 2505.05355", {"detach": False}),
    "optimizer/adam": (
        "Kingma & Ba, 2015, and torch's defaults",
        {"lr": "${dataset.learning_rate}", "betas": [0.9, 0.999], "eps": 1e-8, "fused": True},
    ),
    "optimizer/exact_adam": (
        "Kingma & Ba, 2015, and torch's defaults",
        {"lr": "${dataset.learning_rate}", "betas": [0.9, 0.999], "eps": 1e-8},
    ),
    "optimizer/embedding_sgd": (OWN, {"lr": "${dataset.learning_rate}", "embedding_l2": 0.5}),
    "trainer/default": (
        BENCHMARK,
        {
            "max_epochs": 50,
            "evaluate_every": 1.0,
            "patience": "${dataset.patience}",
            "bags_per_batch": 8,
            "instances_per_batch": 1024,
            "threads": 1,
        },
    ),
    "protocol/paper": (BENCHMARK, {"held_out": 0.0, "select_by": "test", "start": "labels"}),
    "protocol/holdout": (
        OWN,
        {"held_out": 0.1, "select_by": "auto", "test_in_curve": False, "refit": "auto", "start": "labels"},
    ),
    "model/autoint": (
        "Song et al., CIKM 2019, and the benchmark's paper",
        {
            "number_columns": "${oc.select:dataset.number_columns,0}",
            "embedding_dim": 16,
            "attention_layers": 3,
            "heads": 2,
            "head_width": 32,
            "hidden": [256, 256],
        },
    ),
    "model/embedding_mlp": (BENCHMARK, {"embedding_dim": 16, "hidden": [128, 64]}),
    "model/linear": ("Quadrianto et al., JMLR 2009: no bias", {"bias": False}),
    "model/mlp": (BENCHMARK, {"hidden": [128, 64]}),
    "grouping_key/feature": (BENCHMARK, {"kind": "feature", "columns": "???", "low_thresh": 50, "high_thresh": 2500}),
    "grouping_key/fixed": (BENCHMARK, {"kind": "fixed", "columns": "???", "bag_size": "???", "seed": 0}),
    "grouping_key/random": (BENCHMARK, {"kind": "random", "bag_size": "???", "seed": 0}),
    "grouping_key/prior": (OWN, {"kind": "prior", "column": None, "scores": None, "bag_size": "???", "seed": 0}),
    "noise/gaussian": (OWN, {"mechanism": "gaussian", "epsilon": 1.0, "delta": 1e-6, "sensitivity": 1.0, "seed": 0}),
    "noise/laplace": (OWN, {"mechanism": "laplace", "epsilon": 1.0, "delta": 0.0, "sensitivity": 1.0, "seed": 0}),
    "grouping_key/given": (OWN, {"kind": "given", "n_folds": 5}),
}


def columns(n):
    return [f"C{j}" for j in range(1, n + 1)]


MADE = {"label_kind": "binary", "rows": 400000, "seed": 0, "vocab_fraction": 1.0, "embedded": True}
# of files that hold beside them what is no setting: a text, or Hydra's own
SOME = {
    "dataset/criteo_ctr": (
        BENCHMARK,
        {"learning_rate": 1e-5, "patience": 3, "prepare.rare_at_most": 10, "number_columns": 13, "table": "criteo_ctr",
         "label_kind": "binary", "key_columns": columns(26), "embedded": False},
    ),
    "dataset/criteo_sscl": (
        BENCHMARK,
        {"learning_rate": 1e-4, "patience": 5, "prepare.rare_at_most": 5, "transform": "log2_squared",
         "label_kind": "real", "key_columns": columns(17), "embedded": False,
         "table": "criteo_sscl_${dataset.transform}", "prepare.transform": "${dataset.transform}"},
    ),
    "dataset/flights": (
        OWN,
        {"patience": 3, "prepare.late_after": 15, "prepare.rare_at_most": 10, "prepare.bins": 32, "label": "late",
         "labels.late.kind": "binary", "labels.late.learning_rate": 1e-3, "labels.delay.kind": "real",
         "labels.delay.learning_rate": 1e-3, "labels.late.name": "flights", "labels.delay.name": "flights_delay",
         "key_columns": ["month", "day", "hour", "carrier", "flight", "tailnum", "origin", "dest"]},
    ),
    "dataset/diamonds": (
        OWN,
        {"learning_rate": 1e-3, "patience": 3, "prepare.bins": 32, "label_kind": "real",
         "key_columns": ["cut", "color", "clarity"]},
    ),
    "dataset/synthetic": (
        OWN,
        MADE | {"learning_rate": 1e-3, "patience": 3, "prepare.signal": 1.5, "prepare.rate": 0.25,
                "key_columns": columns(26), "number_columns": 13},
    ),
    "dataset/synthetic_sscl": (
        OWN,
        MADE | {"learning_rate": 1e-3, "patience": 5, "prepare.mean": 40.0, "prepare.signal": 9.0,
                "prepare.noise": 12.0, "label_kind": "real", "key_columns": columns(17)},
    ),
    "dataset/files": (
        OWN,
        {"bag_sizes": "check", "unmatched_bags": "stop", "overlap": False, "rare_threshold": 10, "numeric_as": "both",
         "bins": 32, "missing_as": "indicator", "date_parts": ["year", "month", "weekday", "hour"],
         "label_kind": "auto", "dataset.learning_rate": 1e-3, "dataset.patience": 3},
    ),
    "hardware/default": (
        OWN, {"accelerator": "auto", "features_on": "auto", "deterministic": False}
    ),
    "train": (
        OWN,
        {"fold": 0, "seed": 0, "hydra.sweeper.params.fold": "0,1,2,3,4", "force": False, "save_model": False,
         "checkpoint_minutes": 5, "num_workers": 0, "from": None},
    ),
    "prepare": (OWN, {"raw": None, "errors": "stop", "force": False}),
    "analyze": (
        BENCHMARK,
        {"key_size": 2, "low_thresh": 50, "high_thresh": 2500, "instance_thresh": 30,
         "bag_sizes": [64, 128, 256, 512], "bag_seed": 0, "tail_named_by": "p85", "metric": "sqeuclidean",
         "metric_limit": 5000, "space": "multi_hot", "matrix": None, "matrix_bags": 300},
    ),
    "report": (OWN, {"learning_rate": "all", "dataset": None, "grouping_key": None, "method": None}),
}  # fmt: skip
CTR = "dllp_bce,dllp_mse,genbags,easy_llp,ot_llp,sim_llp,soft_erot_llp,hard_erot_llp,mean_map"
SSCL = "dllp_mse,dllp_mae,genbags,sim_llp"
# grids of the benchmark's tables: grouping keys, methods, folds
GRIDS = {
    "paper_ctr_feature": ("benchmark", CTR, "0,1,2,3,4"),
    "paper_ctr_fixed": ("benchmark_fixed", CTR, "0,1,2,3,4"),
    "paper_ctr_random": ("benchmark_random", CTR, "0,1,2,3,4"),
    "paper_ctr_instance": ("random_256", "instance_bce,instance_mse", 0),
    "paper_sscl_feature": ("benchmark", SSCL, "0,1,2,3,4"),
    "paper_sscl_random": ("benchmark_random", SSCL, "0,1,2,3,4"),
    "paper_sscl_instance": ("random_256", "instance_mse", 0),
}
# what a file takes for other groups, by the method's paper or the benchmark's tables
DEFAULTS = {
    "method/ot_llp": ["dllp_bce@first_stage"],
    "method/soft_erot_llp": ["dllp_bce@first_stage"],
    "method/hard_erot_llp": ["dllp_bce@first_stage"],
    "method/sim_llp": ["dllp_mse@first_stage"],
    "method/mean_map": [{"override /model@_global_.model": "linear"}],
    "dataset/criteo_ctr": [{"override /grouping_key@_global_.grouping_key": "C3_C11"}],
    "dataset/criteo_sscl": [
        {"override /grouping_key@_global_.grouping_key": "C3_C8"},
        {"override /model@_global_.model": "embedding_mlp"},
    ],
}
REAL_TOO = {"dllp_mae", "dllp_mse", "genbags", "group_prior", "instance_mse", "sim_llp"}
CHOSEN = {"model": "mlp", "dataset": "flights", "method": "dllp_bce", "optimizer": "exact_adam", "protocol": "paper",
          "grouping_key": "random_256", "trainer": "default", "noise": None, "logger": "csv"}  # fmt: skip


def leaves(node, above=()):
    for name, value in node.items():
        if isinstance(value, dict):
            yield from leaves(value, (*above, str(name)))
        else:
            yield ".".join((*above, str(name))), value


def written(file):
    return dict(leaves(OmegaConf.to_container(OmegaConf.load(CONF_DIR / f"{file}.yaml"), resolve=False)))


def assert_same(found, expected):
    assert found == expected
    assert [type(found[name]) for name in expected] == [type(value) for value in expected.values()]


@pytest.mark.parametrize("file", SETTINGS)
def test_every_option_of_the_file_is_the_published_one(file):
    source, expected = SETTINGS[file]
    assert source
    found = {name: value for name, value in written(file).items() if name not in PROGRAM}
    assert_same(found, expected)


@pytest.mark.parametrize("file", SOME)
def test_published_options_of_the_file(file):
    source, expected = SOME[file]
    assert source
    found = written(file)
    assert_same({name: found[name] for name in expected}, expected)


def test_no_file_is_left_out():
    groups = {name.partition("/")[0] for name in SETTINGS}
    assert {f"{group}/{name}" for group in groups for name in options(group)} == set(SETTINGS)


@pytest.mark.parametrize("name", GRIDS)
def test_grids_of_the_benchmarks_tables(name):
    experiment = OmegaConf.load(CONF_DIR / f"experiment/{name}.yaml")
    params = experiment.hydra.sweeper.params
    assert (params.grouping_key, params.method, params.fold) == GRIDS[name]
    assert set(params) == {"grouping_key", "method", "fold"}
    assert experiment.protocol == {"start": "authors"}


def test_what_is_taken_unless_another_is_named():
    def defaults(file):
        return OmegaConf.to_container(OmegaConf.load(CONF_DIR / f"{file}.yaml")).get("defaults", [])

    for file in [*(f"method/{name}" for name in options("method")), *DEFAULTS]:
        assert [one for one in defaults(file) if one != "_self_"] == DEFAULTS.get(file, []), file
    chosen = {name: option for one in defaults("train") if isinstance(one, dict) for name, option in one.items()}
    assert {name: chosen[name] for name in CHOSEN} == CHOSEN


@pytest.mark.parametrize("name", options("method"))
def test_what_the_program_knows_of_a_method(name):
    found = written(f"method/{name}")
    assert found["name"] == name
    assert found["labels"] == ["binary", *["real"] * (name in REAL_TOO)]
    assert found.get("keep_model", False) is (name in ("dllp_bce", "dllp_mse"))
