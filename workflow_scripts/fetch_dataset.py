"""Download the official archive of a dataset, check it and unpack it.

    python workflow_scripts/fetch_dataset.py --dataset xnli \\
        --datasets resources/datasets.tsv --archive_dir results/archives \\
        --output_dir results/datasets/xnli

writes results/archives/XNLI-1.0.zip and unpacks it into results/datasets/xnli. Size and
sha256 must be those that resources/datasets.tsv names. A download that broke off goes
on where it stopped. Without a network, put the archive into the archive folder by hand:
nothing is downloaded then.
"""

import argparse
import http.client
import os
import stat
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from babelmill.errors import UserError
from babelmill.files import read_lines, sha256, whole_folder
from babelmill.progress import bar
from babelmill.script import run

COLUMNS = ["name", "url", "bytes", "sha256", "license", "what"]
BLOCK = 1 << 16


@dataclass(frozen=True)
class Dataset:
    """An official archive: where it is, how many bytes it has and which."""

    name: str
    url: str
    bytes: int
    sha256: str

    @property
    def file_name(self) -> str:
        return PurePosixPath(self.url).name


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", required=True, help="a name in the table")
    parser.add_argument("--datasets", required=True, type=Path, help="the table")
    parser.add_argument("--archive_dir", type=Path, default=Path("results/archives"))
    parser.add_argument("--output_dir", required=True, type=Path)
    parser.add_argument(
        "--timeout", type=float, default=30, help="seconds to wait for an answer"
    )
    args = parser.parse_args()
    dataset = read_dataset(args.datasets, args.dataset)
    archive = fetch(dataset, args.archive_dir, args.timeout)
    with whole_folder(args.output_dir) as partial:
        unpack(archive, partial)


def read_dataset(table: Path, name: str) -> Dataset:
    """Find a dataset in the table.

    Raises:
        UserError: the table is not as it should be, or lacks the name.
    """
    lines = read_lines(table)
    if next(lines, "").split("\t") != COLUMNS:
        raise UserError(f"{table}, line 1: the columns are not {', '.join(COLUMNS)}")
    names = []
    for number, line in enumerate(lines, 2):
        fields = line.split("\t")
        if len(fields) != len(COLUMNS) or not fields[2].isdecimal():
            raise UserError(
                f"{table}, line {number}: not a row of {len(COLUMNS)} fields"
            )
        if fields[0] == name:
            return Dataset(name, fields[1], int(fields[2]), fields[3])
        names.append(fields[0])
    raise UserError(f"{table}: no dataset {name}; there are {', '.join(names)}")


def fetch(dataset: Dataset, folder: Path, timeout: float) -> Path:
    """Return the checked archive in ``folder``, downloaded where it is not there.

    What has arrived of it stays beside it when the download breaks off, and the next
    call asks the server for the rest.

    Args:
        dataset: the archive wanted.
        folder: where archives are kept.
        timeout: seconds without an answer or a byte after which to give up.

    Raises:
        UserError: no network, or the archive is not the one that the table names.
    """
    archive = folder / dataset.file_name
    by_hand = (
        f"put {dataset.file_name} ({dataset.bytes} bytes, sha256 {dataset.sha256})"
        f" into {folder} and run again"
    )
    if archive.exists():
        _check(archive, dataset, by_hand)
        return archive
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{dataset.file_name}.partial"
    try:
        _download(dataset, partial, timeout)
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        if str(getattr(error, "filename", None)) == str(partial):
            raise
        raise UserError(
            f"cannot download {dataset.url} ({error}): {by_hand}"
        ) from error
    if partial.stat().st_size < dataset.bytes:
        raise UserError(
            f"the download of {dataset.url} broke off after {partial.stat().st_size}"
            f" of {dataset.bytes} bytes: run again to go on, or {by_hand}"
        )
    try:
        _check(partial, dataset, by_hand)
    except UserError:
        partial.unlink()
        raise
    os.replace(partial, archive)
    return archive


def _download(dataset: Dataset, partial: Path, timeout: float) -> None:
    """Append to ``partial`` what it lacks, and no more than one byte too many."""
    start = partial.stat().st_size if partial.exists() else 0
    if start >= dataset.bytes:
        return
    headers = {"Range": f"bytes={start}-"} if start else {}
    request = urllib.request.Request(dataset.url, headers=headers)
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        if answer.status != http.client.PARTIAL_CONTENT:
            start = 0
        with (
            partial.open("r+b" if start else "wb") as target,
            bar(dataset.file_name, "B", total=dataset.bytes, initial=start) as shown,
        ):
            target.seek(start)
            left = dataset.bytes + 1 - start
            while left and (block := answer.read(min(BLOCK, left))):
                target.write(block)
                shown.update(len(block))
                left -= len(block)


def _check(path: Path, dataset: Dataset, by_hand: str) -> None:
    if path.stat().st_size != dataset.bytes:
        wrong = f"it is not {dataset.bytes} bytes long"
    elif (digest := sha256(path)) != dataset.sha256:
        wrong = f"its sha256 is {digest}"
    else:
        return
    raise UserError(f"{path}: not the archive of {dataset.name}, {wrong}: {by_hand}")


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a zip archive into a folder, without what macOS adds to archives.

    Raises:
        UserError: the file is no zip archive, or a member would land outside of the
            folder or is a link; nothing has been unpacked then.
    """
    try:
        with zipfile.ZipFile(archive) as source:
            members = source.infolist()
            for member in members:
                _refuse_outside(member, archive)
            for member in members:
                if not member.filename.startswith("__MACOSX/"):
                    source.extract(member, folder)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise UserError(f"{archive}: cannot be unpacked: {error}") from error


def _refuse_outside(member: zipfile.ZipInfo, archive: Path) -> None:
    # Windows paths know both slashes, and drives.
    path = PureWindowsPath(member.filename)
    link = stat.S_ISLNK(member.external_attr >> 16)
    if path.anchor or ".." in path.parts or link:
        raise UserError(
            f"{archive}: member {member.filename!r} would reach outside of the folder:"
            " the archive is not to be trusted"
        )


if __name__ == "__main__":
    run(main)
