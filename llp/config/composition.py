"""Composition by Hydra, with errors of this project's wording: one line, and the nearest option's name."""

import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import hydra._internal.hydra
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.override_parser.types import Override, OverrideType
from hydra.errors import ConfigCompositionException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict

from llp.config import rerun
from llp.config.command_line import apply_as_written, explain, parse_words
from llp.config.commands import check_grid
from llp.config.grouping_keys import CONF_DIR, GroupingKeySource, options, read_columns
from llp.config.launchers import forget_namesakes
from llp.config.sources import Sources, plugins, rules_of_hydra_1_3, search_path, with_names
from llp.config.targets import check_origin, packages_of, targets_in
from llp.errors import InputError, choice, invalid, shortened


class CompositionError(InputError, ConfigCompositionException):
    """Wrong input at composition; Hydra prints it without a traceback."""


def _make_folder(option: str, folder: str) -> None:
    """Make the folder that Hydra makes before a command's checks, or say why it cannot be."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise invalid(option, folder, f"a folder, but {error.strerror}", "FOLDER") from None


def _check_targets(overrides: Sequence[Override], config: DictConfig) -> None:
    """Refuse targets on a command line of packages that are not on the search path; Hydra checks its own plugins'."""
    given = [one for one in overrides if not (one.is_sweep_override() or one.is_delete())]
    named = [target for one in given for target in targets_in(one.key_or_group, one.value())]
    own = [(name, path) for name, path in named if not name.startswith(("hydra.launcher.", "hydra.sweeper."))]
    check_origin(own, packages_of(config), "a command line")


class CheckedLoader(ConfigLoaderImpl):
    """Hydra's config loader, which says what is wrong in one line."""

    _composes_points = False
    _probed: tuple[str | None, list[str], DictConfig] | None = None  # composed by Hydra to find the mode

    def __init__(self, config_search_path: ConfigSearchPath) -> None:
        self.config_search_path = with_names(config_search_path)
        self.repository = Sources(self.config_search_path)

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        """See `ConfigLoader`: names that read as numbers are names, and a command ends with the error's line.

        Outside a command (`hydra.compose`, and points of a multirun) that line is a CompositionError's.
        """
        given = [self._as_name(override) for override in overrides]
        try:
            self._check_choices(given)
            for one in parse_words(given):
                if one.is_sweep_override():
                    check_grid(config_name, str(one.input_line))
            probed, self._probed = self._probed, None
            mode = f"hydra.mode={run_mode.name}"
            if probed and (config_name, given) == (probed[0], [*probed[1], mode]):
                self.validate_sweep_overrides_legal(parse_words(given), run_mode, from_shell)
                config = probed[2]
                config.hydra.mode = run_mode
                config.hydra.overrides.hydra.append(mode)
            else:
                again, how = self._run_again(given), (run_mode, from_shell, validate_sweep_overrides)
                load = super().load_configuration if again is None else partial(self._load_again, again)
                config = load(config_name, given, *how)
                if not (validate_sweep_overrides or "???" in config.hydra.runtime.choices.values()):
                    self._probed = config_name, given, config
            _check_targets(parse_words(given), config)
            if config.hydra.mode == RunMode.MULTIRUN:
                check_grid(config_name, "-m")
            read_columns(config, str(config.hydra.runtime.choices.get("grouping_key")))
            if from_shell and run_mode == RunMode.RUN:
                _make_folder("hydra.run.dir", config.hydra.run.dir)
            return config
        except Exception as error:  # Hydra asserts, descends and opens files by what is given
            explained = str(explain(self, error, given))
            if from_shell and not self._composes_points:
                sys.exit(explained)
            raise CompositionError(explained) from None

    @staticmethod
    def validate_sweep_overrides_legal(overrides: list[Override], run_mode: RunMode, from_shell: bool) -> None:
        """See `ConfigLoaderImpl`."""
        for one in overrides:
            if one.is_sweep_override() and run_mode == RunMode.RUN:
                given = shortened(str(one.input_line))
                raise InputError(
                    f"Invalid {given}: expected one value, a [list], or a grid with -m, such as -m {given}"
                )
        ConfigLoaderImpl.validate_sweep_overrides_legal(overrides, run_mode, from_shell)

    def _run_again(self, overrides: list[str]) -> str | None:
        """The folder of the run that is done again, where one is."""
        given = [one for one in parse_words(overrides) if one.key_or_group == rerun.OPTION]
        if any(one.is_sweep_override() for one in given):
            raise InputError(f"Invalid {given[0].input_line}: expected one run, such as from=FOLDER")
        return str(given[-1].value()) if given and given[-1].value() is not None else None

    def _load_again(self, folder: str, config_name: str | None, overrides: list[str], *how: Any) -> DictConfig:
        """Compose the choices, put a run's groups in the place of those that are none, then apply the values."""
        parsed = parse_words(overrides)
        values = [one for one in parsed if not one.is_hydra_override() and not self.is_group(one.key_or_group)]
        chosen = {one.key_or_group for one in parsed} - {one.key_or_group for one in values}
        lines = [str(one.input_line) for one in parsed if one not in values]
        config = super().load_configuration(config_name, lines, *how)
        rerun.put_in_place(config, folder, chosen)
        given = [one for one in values if one.key_or_group != rerun.OPTION and not one.is_sweep_override()]
        for one in given:
            rerun.check_beside(one, chosen)
        self._apply_overrides_to_config(given, config)
        config.hydra.overrides.task = [one.input_line for one in parsed if not one.is_hydra_override()]
        return config

    def load_sweep_config(self, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        """See `ConfigLoader`."""
        self._composes_points = True
        try:
            return super().load_sweep_config(master_config, sweep_overrides)
        finally:
            self._composes_points = False

    def apply(
        self, values: Sequence[Override], config: DictConfig, master: DictConfig, overrides: Sequence[str]
    ) -> None:
        """Apply overrides that choose no file to what the others compose, as the last step of a point's composition.

        `master` is the multirun's config; `overrides`, all of the point's, are for the error.
        """
        try:
            _check_targets(values, master)
            self._apply_overrides_to_config(list(values), config)
        except Exception as error:
            given = [*self.of_hydra(master), *overrides]
            explained = explain(self, error, given)
            raise CompositionError(str(explained)) from None

    def has_file(self, group: str, name: str, master: DictConfig) -> bool:
        """Whether a group's option is a file, and not made from its name."""
        given = self.of_hydra(master)
        _, repository = self._parse_overrides_and_create_caching_repo(master.hydra.job.config_name, given)
        made = GroupingKeySource.scheme()
        return any(one.is_config(f"{group}/{name}") for one in repository.get_sources() if one.scheme() != made)

    @staticmethod
    def of_hydra(master: DictConfig) -> list[str]:
        """Hydra's own part of a command line."""
        overrides: Any = OmegaConf.to_container(master.hydra.overrides.hydra)
        return [str(override) for override in overrides]

    def _as_name(self, override: str) -> str:
        """Quote what a group is given where Hydra would read a number: `grouping_key=1_2` is the key of 1 and 2."""
        group, sign, value = override.partition("=")
        if not sign or group.startswith("hydra") or not self.is_group(group) or not re.fullmatch(r"[\w.,]+", value):
            return override
        return f"{group}=" + ",".join(
            f"'{name}'" if re.fullmatch(r"[\d._]+", name) else name for name in value.split(",")
        )

    def is_group(self, name: str) -> bool:
        """Whether a name is a config group's."""
        return self.repository.group_exists(name)

    def forced(self, one: Override) -> str:
        """An option's override as one that makes it where it is not there: the models say what they do not know."""
        plain = one.type == OverrideType.CHANGE and not (one.is_hydra_override() or one.is_sweep_override())
        return f"{'++' if plain and not self.is_group(one.key_or_group) else ''}{one.input_line}"

    def _check_choices(self, overrides: list[str]) -> None:
        """Refuse null, lists and what no file can be called where a group's name belongs."""
        for one in parse_words(overrides):
            value = None if one.is_sweep_override() or one.is_delete() else one.value()
            group = one.key_or_group
            if one.is_delete() and self.is_group(group) and not isinstance(one.value(), str | None):
                raise InputError(
                    f"Invalid {one.input_line}: expected nothing behind the group's name, such as ~{group}"
                )
            size = len(value.encode(errors="surrogatepass")) if isinstance(value, str) else 0
            is_name = isinstance(value, str) and size <= 250 and "\0" not in value  # with .yaml: 255
            if not self.is_group(group) or is_name or isinstance(value, dict):
                continue
            if not (one.is_sweep_override() or one.is_delete()):
                names = self._names(group)
                raise invalid(group, value, choice(names) if names else "a name", names[0] if names else "NAME")

    def _names(self, group: str) -> list[str]:
        return ["COLUMN_COLUMN", "random_256"] if group == "grouping_key" else self.get_group_options(group)


def compose(name: str, overrides: Sequence[str]) -> DictConfig:
    """Compose `conf/<name>.yaml` as its command would, beside whatever Hydra application is under way in this process.

    Parameters
    ----------
    name : str
        The command.
    overrides : sequence of str
        What stands behind it.

    Raises
    ------
    CompositionError
        An override is wrong.
    """
    loader = CheckedLoader(search_path())
    with rules_of_hydra_1_3():
        given = [loader.forced(one) for one in parse_words(overrides)]
        given += [f"hydra.job.name={name}", "~hydra/launcher", "~hydra/sweeper"]  # which nothing launches
        config = loader.load_configuration(name, given, RunMode.RUN, from_shell=False)
    with open_dict(config):
        del config["hydra"]
    return config


def install_loader() -> None:
    """Have Hydra compose with `CheckedLoader`; the command and `hydra.compose` alike."""
    setattr(ConfigLoaderImpl, "_apply_overrides_to_config", staticmethod(apply_as_written))  # noqa: B010
    setattr(hydra._internal.hydra, "ConfigLoaderImpl", CheckedLoader)  # noqa: B010  # Hydra has no option for it


def register() -> None:
    """Make resolvers and the loader known to Hydra, for this process: every command calls it before `hydra.main`."""
    forget_namesakes()
    folders = [CONF_DIR, *plugins().values()]
    OmegaConf.register_new_resolver(
        "llp.config.options", lambda group: ", ".join(options(group, folders)), replace=True
    )
    install_loader()
