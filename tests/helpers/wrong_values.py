"""Wrong values of options, and how each is refused: in the tests of the checks."""

from hydra import compose, initialize

import llp.report
import llp.status  # noqa: F401  # registers its config, as llp.report does
from llp.config.composition import register
from llp.config.hydra_main import store
from tests.helpers.commands import TINY
from tests.helpers.composed import composition

# what is written after the options of a tiny run of llp.train: how the line begins that refuses it
VALUES = [
    ("fold=5", "Invalid fold=5: expected an integer >= 0 and <= 4, such as fold=0"),
    ("fold=a", "Invalid fold='a': expected an integer >= 0 and <= 4, such as fold=0"),
    ("fold=1.0", "Invalid fold=1.0: expected an integer"),
    ("seed=-1", "Invalid seed=-1: expected an integer >= 0, such as seed=0"),
    ("seed=1.0", "Invalid seed=1.0: expected an integer >= 0, such as seed=0"),
    ("seed=9223372036854775808", "Invalid seed=9223372036854775808: expected an integer of at most 63 bits"),
    ("dataset.rows=9223372036854775808", "Invalid dataset.rows=9223372036854775808: expected an integer of at most 63"),
    ("trainer.threads=0", "Invalid trainer.threads=0: expected an integer >= 1 and <= 1024, such as trainer.threads=1"),
    ("trainer.threads=1000000", "Invalid trainer.threads=1000000: expected an integer >= 1 and <= 1024"),
    ("trainer.bags_per_batch=0", "Invalid trainer.bags_per_batch=0: expected an integer > 0, such as trainer.bags_p"),
    ("trainer.evaluate_every=0", "Invalid trainer.evaluate_every=0.0: expected a number > 0"),
    ("trainer.max_epochs=[1]", "Invalid trainer.max_epochs=[1]: expected an integer > 0, such as trainer.max_epochs=1"),
    ("num_workers=-1", "Invalid num_workers=-1: expected an integer >= 0 and <= 1024, such as num_workers=0"),
    ("grouping_key=random_0", "Invalid grouping_key.bag_size=0: expected an integer > 0, such as grouping_key.bag_s"),
    ("force=maybe", "Invalid force='maybe': expected true or false, such as force=true"),
    ("force='false'", "Invalid force='false': expected true or false, such as force=true"),
    ("save_model=1", "Invalid save_model=1: expected true or false, such as save_model=true"),
    ("checkpoint_minutes=-1", "Invalid checkpoint_minutes=-1: expected a number >= 0, such as checkpoint_minutes="),
    ("checkpoint_minutes=nan", "Invalid checkpoint_minutes=nan: expected a finite number"),
    ("hardware.accelerator=tpu", "Invalid hardware.accelerator='tpu': expected auto, cpu or gpu, such as"),
    ("hardware.deterministic=1", "Invalid hardware.deterministic=1: expected true or false, such as"),
    ("~trainer.patience", "Missing trainer.patience: expected an integer > 0, such as patience: 1 in its YAML file"),
    ("~optimizer", "Invalid optimizer=null: expected adam, embedding_sgd or exact_adam, such as opt"),
    ("data_dir=null", "Invalid data_dir=null: expected a folder, such as data_dir=FOLDER"),
    ("outputs_dir=", "Invalid outputs_dir='': expected a folder"),
    ("outputs_dir=[a,b]", "Invalid outputs_dir=['a','b']: expected a folder, such as outputs_dir=FOLDER"),
    ("method.name=a/b", "Invalid method.name='a/b': expected a name that a folder can have"),
    ("dataset.table=../x", "Invalid dataset.table='../x': expected a name that a folder can have"),
    ("dataset.table=", "Invalid dataset.table='': expected a name that a folder can have"),
    ("dataset.key_columns=C1", "Invalid dataset.key_columns='C1': expected a list"),
    ("dataset.label_kind=foo", "Invalid dataset.label_kind='foo': expected binary or real, such as"),
    ("protocol.name=foo", "Invalid protocol.name='foo': expected paper or holdout, such as protocol.name=paper"),
    ("protocol.held_out=0.5", "Invalid protocol.held_out=0.5: expected 0 under protocol=paper, such as protocol=hold"),
    ("protocol=holdout protocol.held_out=-0.1", "Invalid protocol.held_out=-0.1: expected a number >= 0 and < 1, su"),
    ("protocol=holdout protocol.held_out=0", "Invalid protocol.held_out=0.0: expected a number > 0 and < 1, such as"),
    ("+protocol.test_in_curve=true", "Invalid protocol.test_in_curve=true: expected nothing under protocol=paper, s"),
    ("protocol.select_by=upm", "Invalid protocol.select_by='upm': expected test under protocol=paper, such as proto"),
    ("protocol=holdout protocol.select_by=test", "Invalid protocol.select_by='test': expected auto, bag_loss, upm,"),
    ("protocol=holdout protocol.refit=1", "Invalid protocol.refit=1: expected auto, true, false or null, such as pr"),
    ("protocol=holdout ~protocol.refit", "Missing protocol.refit: expected auto, true or false, such as refit: auto"),
    ("logger=wandb logger.mode=foo", "Invalid logger.mode='foo': expected auto, online or offline, such as"),
    ("logger=wandb logger.tags=foo", "Invalid logger.tags='foo': expected a list"),
    ("grouping_key=", "Invalid grouping_key='': expected key columns of dataset synthetic, which has no '' but C1"),
    ("grouping_key=C1/C2", "Invalid grouping_key='C1/C2': expected key columns of dataset synthetic, which has no C1/"),
    ("grouping_key=1_2", "Invalid grouping_key='1_2': expected key columns of dataset synthetic, which has no 1, 2 "),
    ("grouping_key=random_64 grouping_key.kind=x", "Invalid grouping_key.kind='x': expected "),
    ("noise=laplace noise.epsilon=0", "Invalid noise.epsilon=0.0: expected a number > 0"),
    ("noise=laplace noise.delta=0.1", "Invalid noise.delta=0.1: expected 0 under noise=laplace, such as noise=gaussia"),
    ("noise=gaussian noise.delta=0", "Invalid noise.delta=0.0: expected a number > 0 and < 1 under noise=gaussian, "),
    ("noise=laplace noise.neighbours=person", "Invalid noise.neighbours='person': expected label, row or replace, s"),
    ("noise=laplace noise.epsilon=1e-300", "Invalid noise.epsilon=1e-300: expected a number >= 1e-36, as the noise "),
    ("noise=x", "Invalid noise='x': expected gaussian, laplace or randomised_response, such as noise="),
    ("noise=randomised_response noise.delta=0.1", "Invalid noise.delta=0.1: expected 0 under noise=randomised_respo"),
    ("grouping_key=prior_64", "Invalid grouping_key=prior_64: expected the prior prediction by which its bags are "),
    ("grouping_key=prior_64 grouping_key.column=N1 grouping_key.scores=x.csv", "Invalid grouping_key=prior_64: expect"),
    ("grouping_key=prior_64 grouping_key.scores=x.csv", "Invalid grouping_key.scores='x.csv': expected a file of sc"),
    ("grouping_key=random_64 grouping_key.seed=-1", "Invalid grouping_key.seed=-1: expected an integer >= 0, such a"),
    ("grouping_key=C1_C2 grouping_key.low_thresh=a", "Invalid grouping_key.low_thresh='a': expected an integer > 0,"),
    ("grouping_key=C1_C2 grouping_key.low_thresh=9000", "Invalid grouping_key.high_thresh=2500: expected an integer"),
    ("grouping_key=feature grouping_key.columns=[C1,1]", "Invalid grouping_key='C1_1': expected key columns of datas"),
    ("grouping_key=feature grouping_key.columns=C1", "Invalid grouping_key.columns='C1': expected a list"),
    ("grouping_key=given grouping_key.n_folds=5.0", "Invalid grouping_key.n_folds=5.0: expected 1"),
    ("experiment=/etc/passwd", "Invalid experiment='/etc/passwd': expected "),
    ("method=../mine/upm", "Invalid method='../mine/upm': expected "),
    ("model=1", "Invalid model='1': expected "),
    ("dataset=null", "Invalid dataset=null: expected "),
    ("method=[dllp_bce,sim_llp]", "Invalid method=['dllp_bce','sim_llp']: expected "),
    ("~dataset.prepare", "Missing dataset.prepare: expected a group of options, such as prepare: VALUE in its YAML"),
    ("~dataset.embedded", "Missing dataset.embedded: expected true or false, such as embedded: true in its YAML file"),
    ("dataset.embedded=false", "Missing dataset.source: expected where its raw files are had, such as source: https:"),
    ("~method.labels", "Missing method.labels: expected a list that is not empty, each of it binary or real, such a"),
    ("grouping_key=C3_C99", "Invalid grouping_key='C3_C99': expected key columns of dataset synthetic, which has no C"),
    ("grouping_key=C11_C3", "Invalid grouping_key='C11_C3': expected columns in table order, each once, such as group"),
    ("grouping_key=fixed_C11_C3_64", "Invalid grouping_key='fixed_C11_C3_64': expected columns in table order, each o"),
    ("grouping_key=C3_C3", "Invalid grouping_key='C3_C3': expected columns in table order, each once, such as groupin"),
    ("grouping_key=feature", "Invalid grouping_key.columns=[]: expected columns of C1, C2, "),
    ("grouping_key=fixed grouping_key.columns=[]", "Invalid grouping_key.columns=[]: expected columns of C1, C2, "),
    ("grouping_key=random", "Missing grouping_key.bag_size: expected the size of its bags, such as grouping_key=rando"),
    ("grouping_key=prior grouping_key.scores=x.csv", "Missing grouping_key.bag_size: expected the size of its bags, s"),
    ("grouping_key=fixed grouping_key.columns=[C1]", "Missing grouping_key.bag_size: expected the size of its bags, s"),
    ("dataset=flights dataset.label=early", "Invalid dataset.label='early': expected late or delay, such as dataset.l"),
    ("seed=${nothing}", "Interpolation key 'nothing' not found"),
]


def composed(command, overrides):
    """The config of a command; of a tiny run for `train`."""
    register()
    if command in ("report", "status"):
        store(command)
        with initialize(version_base="1.3", config_path=None):
            return compose(command, overrides)
    if command == "train":
        named = {override.split("=")[0] for override in overrides}
        base = [one for one in TINY if one.split("=")[0] not in named]
        overrides = [*(one for one in base if "dataset" not in named or not one.startswith("dataset.")), *overrides]
    return composition(command, *overrides)
