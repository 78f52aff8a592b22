"""Any content of a config is accepted or refused in one line, and so is any word on the command line."""

import copy
import functools

import hypothesis.strategies as st
import pytest
from hydra.core.global_hydra import GlobalHydra
from hypothesis import HealthCheck, given, settings
from omegaconf import OmegaConf

from llp.config.targets import check_preparation, check_targets
from llp.errors import LONGEST_MESSAGE, InputError
from tests.helpers.composed import check_config, checked
from tests.helpers.wrong_values import composed

COMMANDS = {
    "train": ("method=sim_llp", "protocol=holdout", "logger=wandb", "grouping_key=fixed_C1_C23_64"),
    "prepare": ("dataset=criteo_ctr", "raw=x"),
    "analyze": ("dataset=synthetic",),
    "report": (),
    "status": (),
    "predict": ("run=x", "files=y"),
    "export": ("run=x", "out=y"),
}
TEXTS = st.sampled_from(
    ["", " ", "a", "null", "true", "1", "-1", "1e400", "nan", "../x", "/", "a\nb", "\0", "é", "C1", "C1_C2", "${seed}",
     "${nothing}", "${oc.env:HOME}", "???", "${", "a" * 5000, "llp.methods.dllp.DLLP", "os.system", "mlp"]
)  # fmt: skip
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, st.text(max_size=4))
VALUES = st.recursive(
    SCALARS, lambda one: st.one_of(st.lists(one, max_size=3), st.dictionaries(TEXTS, one, max_size=3)), max_leaves=6
)


@functools.cache
def content_of(command):
    return OmegaConf.to_container(composed(command, [*COMMANDS[command]]), resolve=False)


def places(node, above=()):
    for name, value in node.items():
        yield (*above, name)
        if isinstance(value, dict):
            yield from places(value, (*above, name))


@st.composite
def changed(draw):
    """A command and its config's content with some things in it replaced, removed or added."""
    command = draw(st.sampled_from(sorted(COMMANDS)))
    content = copy.deepcopy(content_of(command))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(sorted(places(content))))
        node = functools.reduce(lambda one, name: one[name], path[:-1], content)
        match draw(st.sampled_from(["replace", "replace", "replace", "remove", "add"])):
            case "replace":
                node[path[-1]] = draw(VALUES)
            case "remove":
                del node[path[-1]]
            case "add":
                node[draw(st.sampled_from(["x", "_target_", "_convert_", "name", "kind", ""]))] = draw(VALUES)
    return command, content


def message_of(run):
    """What is said where it is refused in the project's own words; any other exception comes through."""
    try:
        run()
    except InputError as error:
        return str(error)
    return ""


def accepted_or_refused(case):
    command, content = case
    try:
        config = OmegaConf.create(content)
    except Exception:  # what YAML could not hold either
        return

    def check():
        check_config(config, command)
        if command == "train":
            check_preparation(checked(config).dataset)
            check_targets(checked(config))

    assert "\n" not in message_of(check)


EACH = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@pytest.mark.parametrize("examples", [40, pytest.param(6000, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])
def test_any_content_is_accepted_or_refused(examples):
    settings(max_examples=examples, **EACH)(given(changed())(accepted_or_refused))()


FURTHER = [
    "x", "a.b.c", "", "..", "é", "defaults", "_target_", "fold.x", "grouping_key.columns.0", "dataset@y", "dataset@y:z",
    "dataset/x", "experiment", "noise", "hydra", "hydra.x", "hydra/launcher", "hydra/sweeper", "hydra.launcher.n_jobs",
    "hydra.sweeper.params.fold", "hydra.run.dir", "hydra.mode", "hydra.searchpath",
]  # fmt: skip
FORMS = [
    "[1,2]", "{a: 1}", "{}", "[null]", "1,2", "range(0,0)", "range(a,b)", "choice()", "int(a)", "json_str({a:1})",
    "glob(*)", "'a", "tag(a,1)", "9" * 5000, "[" * 300 + "]" * 300, "{a:" * 99 + "1" + "}" * 99, "a/" * 3000,
    "random", "random_0", "C1__C2", "llp.errors", "builtins.dict", "${oc.select:seed}", "${hydra:runtime.cwd}", "files",
    "\udcff",
]  # fmt: skip


@st.composite
def command_lines(draw):
    """A command and one or two words behind it."""
    command = draw(st.sampled_from(["train", *sorted(COMMANDS)]))
    names = [*FURTHER, *(".".join(path) for path in places(content_of(command)))]
    signs = st.sampled_from(["", "", "", "+", "++", "~"])
    values = st.one_of(TEXTS, st.text(max_size=6), st.sampled_from(FORMS))
    word = st.builds("{}{}={}".format, signs, st.sampled_from(names), values)
    return command, draw(st.lists(word, min_size=1, max_size=2))


def composed_or_refused(case):
    command, words = case
    GlobalHydra.instance().clear()
    message = message_of(lambda: check_config(composed(command, words), command))
    assert "\n" not in message
    assert len(message) <= LONGEST_MESSAGE


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_any_word_on_a_command_line_is_accepted_or_refused():
    settings(max_examples=800, **EACH)(given(command_lines())(composed_or_refused))()
