"""The README as the package index shows it: its links lead to the repository.

hatchling calls this when it builds (`[tool.hatch.metadata.hooks.custom]` in pyproject.toml). Links
in the README are relative, so that they lead to the same version on GitHub and in a checkout. An
index has neither the pictures nor the pages, so there they become links to the tagged version.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RAW = "https://raw.githubusercontent.com"
PICTURE = r"\.(?:png|svg)$"


def with_full_links(text: str, repository: str, version: str) -> str:
    """Return Markdown whose relative links and pictures lead to the version in the repository."""

    def full(target: str) -> str:
        if re.match(r"[a-z]+:|#", target):
            return target
        if re.search(PICTURE, target):
            return f"{repository.replace('https://github.com', RAW)}/v{version}/{target}"
        return f"{repository}/blob/v{version}/{target}"

    text = re.sub(r"(?<=\]\()([^)\s]+)(?=\))", lambda found: full(found[1]), text)
    attribute = r'(?<=src=")([^"]+)(?=")|(?<=srcset=")([^"]+)(?=")|(?<=href=")([^"]+)(?=")'
    return re.sub(attribute, lambda found: full(found[0]), text)


class ReadmeHook(MetadataHookInterface):
    """Give the metadata a README whose links work outside the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Put it into the metadata."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = with_full_links(text, metadata["urls"]["Repository"], metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
