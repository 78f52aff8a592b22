"""Sources of a config: YAML files, Hydra's own, and groups made from their names; without Hydra's registers."""

import copy
import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path

from hydra import version
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.core_plugins.importlib_resources_config_source import ImportlibResourcesConfigSource
from hydra._internal.core_plugins.structured_config_source import StructuredConfigSource
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_search_path import ConfigSearchPath, SearchPathElement
from hydra.plugins.config_source import ConfigSource

from llp.config.grouping_keys import CONF_DIR, GroupingKeySource
from llp.config.own_datasets import OwnDatasetSource, data_dir
from llp.errors import InputError, first_line

SOURCES: dict[str, type[ConfigSource]] = {
    source.scheme(): source
    for source in (
        FileConfigSource,
        ImportlibResourcesConfigSource,
        StructuredConfigSource,
        GroupingKeySource,
        OwnDatasetSource,
    )
}


class Sources(ConfigRepository):
    """Hydra's repository of configs, whose sources are known without the plugins of the process."""

    def initialize_sources(self, config_search_path: ConfigSearchPath) -> None:
        """Open the sources of a search path."""
        self.sources = []
        for element in config_search_path.get_path():
            scheme = self._get_scheme(element.path)
            kind = SOURCES.get(scheme) or SourcesRegistry.instance().resolve(scheme)
            self.sources.append(kind(element.provider, element.path))


def search_path() -> ConfigSearchPath:
    """The search path of a composition outside a command."""
    path = ConfigSearchPathImpl()
    for provider, place in (("hydra", "pkg://hydra.conf"), ("main", str(CONF_DIR)), ("schema", "structured://")):
        path.append(provider, place)
    return path


@functools.cache
def plugins() -> dict[str, Path]:
    """Installed packages with the entry point `llp.plugins`, and the folder `conf` of each; InputError without one."""
    found = dict[str, Path]()
    for name in sorted({point.value for point in entry_points(group="llp.plugins")}):
        try:
            folder = Path(str(files(name))) / "conf"
            reason = "" if folder.is_dir() else f"{folder} is no folder"
            for path in [one.relative_to(folder) for one in folder.rglob("*.yaml")]:  # of two, one would be ignored
                others = [one for one in (CONF_DIR, *found.values()) if (one / path).is_file()]
                reason = f"its {path} is in {others[0]} too" if others else reason
        except Exception as error:  # an own package raises anything
            reason = first_line(error)
        if reason:
            raise InputError(
                f"The plug-in {name} cannot be used ({reason}): expected a package that can be imported, with a folder "
                "conf whose files have names of their own; `pip uninstall` removes it"
            )
        found[name] = folder
    return found


def with_names(path: ConfigSearchPath) -> ConfigSearchPath:
    """A search path with grouping keys and own datasets, made by their names, and plug-ins behind the groups' files."""
    path = copy.deepcopy(path)
    elements = path.get_path()
    # of a command without groups that is called, not started, Hydra puts the package itself there
    for i in [i for i, one in enumerate(elements) if one.provider == "main" and one.path != "pkg://llp"]:
        made = [f"{GroupingKeySource.scheme()}://", f"{OwnDatasetSource.scheme()}://{data_dir()}"]
        made += [f"pkg://{one}.conf" for one in plugins()]
        elements[i + 1 : i + 1] = [SearchPathElement("llp", place) for place in made]
    return path


_composing = threading.Lock()


@contextmanager
def rules_of_hydra_1_3() -> Iterator[None]:
    """Compose by the rules of Hydra 1.3, which are one for the process, and leave those of its application."""
    with _composing:
        rules = version.VersionBase.instance()
        found = rules.version_base
        version.setbase("1.3")
        try:
            yield
        finally:
            rules.version_base = found
