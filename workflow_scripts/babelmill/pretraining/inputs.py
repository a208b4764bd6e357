"""Whether shards, manifest, tokenizer and model belong together."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from babelmill.errors import UserError
from babelmill.models.families import family
from babelmill.shards.layout import BERT_FIELDS, open_shard
from babelmill.tokenizers import Tokenizer


def check_inputs(
    config: dict[str, Any],
    tokenizer: Tokenizer,
    shards: Iterable[Path],
    manifest: dict[str, Any],
    where: Path,
) -> dict[str, Any]:
    """Refuse shards that a model cannot be trained on, before anything starts.

    Args:
        config: of the model.
        shards: training shards and the validation shard.
        manifest: read from ``where``.

    Returns:
        what the manifest says of each shard, by name.

    Raises:
        UserError: the file, and what does not fit.
    """
    if manifest["tokenizer"]["fingerprint"] != tokenizer.fingerprint:
        raise UserError(f"{where}: the shards were made with another tokenizer")
    found = {}
    for path in shards:
        entry = manifest["files"].get(path.name)
        if entry is None:
            raise UserError(f"{path}: not in {where}: write the manifest again")
        rows = _check_shard(path, config)
        if rows != entry["rows"]:
            raise UserError(
                f"{path}: {rows} rows, where {where} has {entry['rows']}: write the"
                " manifest again"
            )
        found[path.name] = entry
    return found


def _check_shard(path: Path, config: dict[str, Any]) -> int:
    """The number of rows of a shard that has what a model needs."""
    with open_shard(path) as shard:
        wanted = {*family(config).input_fields(config), *BERT_FIELDS}
        if missing := sorted(wanted - set(shard)):
            raise UserError(
                f"{path}: it has no {', '.join(missing)}, which a model of type"
                f" {config['model_type']} needs"
            )
        rows, length = shard["input_ids"].shape
    longest = config["max_position_embeddings"]
    if length > longest:
        raise UserError(
            f"{path}: its rows of {length} are longer than max_position_embeddings"
            f" ({longest})"
        )
    if not rows:
        raise UserError(f"{path}: it has no rows")
    return rows
