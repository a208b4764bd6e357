"""Downloads from a server on this machine; every archive is made here."""

import hashlib
import http.server
import io
import socket
import stat
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "workflow_scripts" / "fetch_dataset.py"
TABLE = Path(__file__).parents[1] / "resources" / "datasets.tsv"
FILES = {"Demo/train.tsv": "a\tb\n" * 9, "Demo/deep/x.txt": "x", "__MACOSX/._x": "m"}


def zip_of(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as target:
        for name, text in files.items():
            target.writestr(name, text)
    return packed.getvalue()


class Server(http.server.ThreadingHTTPServer):
    """Serves ``body`` under every name, ``cut`` bytes at most an answer."""

    body = zip_of(FILES)
    cut: int | None = None
    ranges = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str | None] = []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        wanted = self.headers["Range"]
        self.server.asked.append(wanted)
        start = 0
        if wanted and self.server.ranges:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        rest = self.server.body[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[: self.server.cut])

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    with Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


class Fetch:
    """One folder, in which the script is run as often as wanted."""

    def __init__(self, folder: Path, port: int, body: bytes = Server.body):
        self.archives = folder / "archives"
        self.archive = self.archives / "Demo-1.0.zip"
        self.output = folder / "out" / "demo"
        self.table = folder / "datasets.tsv"
        self.sha256 = hashlib.sha256(body).hexdigest()
        url = f"http://127.0.0.1:{port}/a/Demo-1.0.zip"
        self.table.write_text(
            "name\turl\tbytes\tsha256\tlicense\twhat\n"
            f"demo\t{url}\t{len(body)}\t{self.sha256}\tCC0\tfor the test\n"
        )

    def __call__(self, dataset="demo", timeout=20) -> subprocess.CompletedProcess:
        command = [
            *(sys.executable, SCRIPT, "--dataset", dataset, "--datasets", self.table),
            *("--archive_dir", self.archives, "--output_dir", self.output),
            *("--timeout", str(timeout)),
        ]
        return subprocess.run(
            list(map(str, command)),
            capture_output=True,
            text=True,
            timeout=60,
            env={"no_proxy": "127.0.0.1", "PYTHONPATH": ":".join(sys.path)},
        )

    def unpacked(self) -> dict[str, str]:
        return {
            path.relative_to(self.output).as_posix(): path.read_text()
            for path in self.output.rglob("*")
            if path.is_file()
        }


def stops(done: subprocess.CompletedProcess, *parts: str) -> None:
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    (line,) = [x for x in done.stderr.splitlines() if x.startswith("error: ")]
    for part in parts:
        assert part in line


def test_archive_is_downloaded_checked_unpacked_and_kept(tmp_path, server):
    fetch = Fetch(tmp_path, server.server_port)
    done = fetch()
    assert done.returncode == 0, done.stderr
    expected = {name: text for name, text in FILES.items() if "MACOSX" not in name}
    assert fetch.unpacked() == expected
    assert fetch.archive.read_bytes() == server.body
    assert list(fetch.archives.iterdir()) == [fetch.archive]
    (fetch.output / "stale.txt").write_text("of an older run")
    assert fetch().returncode == 0
    assert fetch.unpacked() == expected
    assert server.asked == [None]


@pytest.mark.parametrize("ranges", [True, False])
def test_a_broken_download_goes_on(tmp_path, server, ranges):
    server.ranges = ranges
    server.cut = 100
    fetch = Fetch(tmp_path, server.server_port)
    stops(fetch(), f"broke off after 100 of {len(server.body)} bytes", "run again")
    assert not fetch.archive.exists()
    assert not fetch.output.exists()
    server.cut = None
    assert fetch().returncode == 0
    assert server.asked == [None, "bytes=100-"]
    assert fetch.archive.read_bytes() == server.body


def test_other_bytes_than_the_table_names(tmp_path, server):
    fetch = Fetch(tmp_path, server.server_port)
    server.body = server.body[:-1] + b"?"
    stops(fetch(), f"its sha256 is {hashlib.sha256(server.body).hexdigest()}")
    assert list(fetch.archives.iterdir()) == []
    assert not fetch.output.exists()


def test_more_bytes_than_the_table_names(tmp_path, server):
    fetch = Fetch(tmp_path, server.server_port)
    server.body += b"more"
    stops(fetch(), f"is not {len(Server.body)} bytes long")
    assert list(fetch.archives.iterdir()) == []


def test_without_network_the_message_says_which_file_to_put_where(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    fetch = Fetch(tmp_path, port)
    stops(
        fetch(),
        "cannot download",
        f"put Demo-1.0.zip ({len(Server.body)} bytes, sha256 {fetch.sha256})",
        f"into {fetch.archives} and run again",
    )
    fetch.archive.write_bytes(Server.body)
    assert fetch().returncode == 0
    assert "Demo/train.tsv" in fetch.unpacked()


def test_a_wrong_file_put_by_hand_is_refused_and_left_alone(tmp_path):
    fetch = Fetch(tmp_path, port=9)
    fetch.archives.mkdir()
    fetch.archive.write_bytes(b"an error page")
    stops(fetch(), str(fetch.archive), "bytes long", "put Demo-1.0.zip")
    assert fetch.archive.read_bytes() == b"an error page"


def test_a_server_that_says_nothing_does_not_hold_us(tmp_path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        fetch = Fetch(tmp_path, silent.getsockname()[1])
        stops(fetch(timeout=0.5), "cannot download", "timed out")


@pytest.mark.parametrize(
    "name", ["../evil.txt", "/evil.txt", "a/../../evil.txt", "..\\evil.txt", "C:evil"]
)
def test_a_member_outside_of_the_folder_is_refused(tmp_path, name):
    body = zip_of({"good.txt": "good", name: "evil"})
    fetch = Fetch(tmp_path, port=9, body=body)
    fetch.archives.mkdir()
    fetch.archive.write_bytes(body)
    stops(fetch(), "would reach outside of the folder")
    assert not fetch.output.exists()
    assert not list(tmp_path.rglob("*evil*"))


def test_a_link_is_refused(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as target:
        link = zipfile.ZipInfo("link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        target.writestr(link, "/etc")
    fetch = Fetch(tmp_path, port=9, body=packed.getvalue())
    fetch.archives.mkdir()
    fetch.archive.write_bytes(packed.getvalue())
    stops(fetch(), "member 'link' would reach outside")


def test_an_archive_that_is_none(tmp_path):
    fetch = Fetch(tmp_path, port=9, body=b"no zip")
    fetch.archives.mkdir()
    fetch.archive.write_bytes(b"no zip")
    stops(fetch(), str(fetch.archive), "cannot be unpacked")
    assert not fetch.output.exists()


def test_unknown_dataset_and_bad_table(tmp_path):
    fetch = Fetch(tmp_path, port=9)
    stops(fetch("other"), "no dataset other; there are demo")
    fetch.table.write_text(fetch.table.read_text().replace("\tCC0", ""))
    stops(fetch(), "line 2: not a row of 6 fields")
    fetch.table.write_text("name\turl\n")
    stops(fetch(), "line 1: the columns are not name, url")


def test_the_table_of_datasets_is_well_formed(test_data):
    header, *rows = [x.split("\t") for x in TABLE.read_text().splitlines()]
    assert header == ["name", "url", "bytes", "sha256", "license", "what"]
    reference = test_data("reference", "datasets.tsv").read_text().splitlines()
    assert [row[:4] for row in rows] == [x.split("\t")[:4] for x in reference[1:]]
    assert all(len(row) == 6 and all(row) for row in rows)
