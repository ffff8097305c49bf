"""Files that survive a crash."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def make_folder(path: Path) -> None:
    """Makes a folder and those above it, durably: a count whose folder is lost begins again."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    sync(path.parent)


def sync(folder: Path) -> None:
    """Makes the names in a folder durable, where folders can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def write(path: Path, contents: bytes) -> None:
    """Writes a file whole or not at all, and durably."""
    begun = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    with open(begun, "xb") as file:
        file.write(contents)
        file.flush()
        os.fsync(file.fileno())
    os.replace(begun, path)
    sync(path.parent)
