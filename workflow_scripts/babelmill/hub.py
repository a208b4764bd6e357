"""Published models that were downloaded before, in the caches of their libraries."""

import os
from pathlib import Path

from babelmill.errors import UserError


def cached_model(name: str) -> Path:
    """The folder of a model in PaddleNLP's cache or in that of Hugging Face's hub.

    Raises:
        UserError: it is in neither.
    """
    home = os.environ.get("PPNLP_HOME", Path.home() / ".paddlenlp")
    folder = Path(home, "models", name)
    if (folder / "config.json").is_file():
        return folder
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except Exception as error:  # Of the hub, or of its cache.
        raise UserError(
            f"{name} is neither in PaddleNLP's cache nor in Hugging Face's: download it"
            " there, or give the folder of a model as folder"
        ) from error
