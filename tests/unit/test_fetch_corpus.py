"""Fetching the corpus, against a server on the loopback interface that misbehaves on demand."""

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from steps import fetch_corpus

TEXTS = {split: f" {split} words \n".encode() * 4000 for split in ("train", "valid", "test")}
DIGESTS = {split: hashlib.sha256(text).hexdigest() for split, text in TEXTS.items()}
Answer = Callable[["Handler", bytes], None]


class Handler(BaseHTTPRequestHandler):
    """Serves TEXTS; a path /NAME/SPLIT is answered in the way that the server's script names."""

    def do_GET(self) -> None:
        name, split = self.path.strip("/").split("/")
        self.server.requests.append((name, split))  # type: ignore
        plan = self.server.script.get(name, [])  # type: ignore
        answer = plan.pop(0) if plan else whole
        answer(self, TEXTS[split])

    def log_message(self, *arguments: object) -> None:
        pass


def begin(handler: Handler, status: int, **headers: object) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), str(value))
    handler.end_headers()


def whole(handler: Handler, text: bytes) -> None:
    begin(handler, 200, Content_Length=len(text))
    handler.wfile.write(text)


def truncated(handler: Handler, text: bytes) -> None:
    """Promises everything, sends half and hangs up."""
    begin(handler, 200, Content_Length=len(text))
    handler.wfile.write(text[: len(text) // 2])


def truncated_chunk(handler: Handler, text: bytes) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1000\r\nabc")


def other_text(handler: Handler, text: bytes) -> None:
    whole(handler, text.replace(b"words", b"wordz"))


def missing(handler: Handler, text: bytes) -> None:
    handler.send_error(404)


def garbage(handler: Handler, text: bytes) -> None:
    handler.wfile.write(b"this is no HTTP\r\n\r\n")


def silent(handler: Handler, text: bytes) -> None:
    """Hangs up without a word."""


def redirecting(handler: Handler, text: bytes) -> None:
    """To itself, for ever."""
    begin(handler, 302, Location=handler.path)


def flooding(handler: Handler, text: bytes) -> None:
    """10 GB, as it says."""
    begin(handler, 200, Content_Length=10 << 30)
    with contextlib.suppress(OSError):  # the client has gone
        for _ in range(200):
            handler.wfile.write(bytes(1 << 20))
        handler.server.requests.append(("flooded", ""))  # type: ignore


class Server(ThreadingHTTPServer):
    requests: list[tuple[str, str]]
    script: dict[str, list[Answer]]

    def mirror(self, name: str, *answers: Answer) -> str:
        """A mirror's address whose first answers are these, and the later ones good."""
        self.script[name] = list(answers)
        return f"http://127.0.0.1:{self.server_address[1]}/{name}/{{split}}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(fetch_corpus.time, "sleep", lambda seconds: None)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server(("127.0.0.1", 0), Handler) as found:
        found.requests, found.script = [], {}
        thread = threading.Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def corpus(*mirrors: str, path: str | None = None, stand_in: bool = False) -> dict:
    found = {"dataset": "ptb", "path": path, "mirrors": list(mirrors), "stand_in": stand_in}
    return found | {"sha256": DIGESTS}


def assert_whole(folder: Path) -> None:
    found = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert found == {f"ptb.{split}.txt": text for split, text in TEXTS.items()}


@pytest.mark.parametrize(
    ("left", "answers"),
    [(b"", []), (b"a killed run", []), (b"", [truncated]), (b"", [missing, other_text])],
)
def test_download(server: Server, tmp_path: Path, left: bytes, answers: list[Answer]) -> None:
    """From the first mirror, in as many attempts as it takes."""
    (tmp_path / "ptb.train.part").write_bytes(left)
    mirror = server.mirror("a", *answers)
    assert fetch_corpus.fetch(corpus(mirror), tmp_path) == mirror
    assert_whole(tmp_path)
    attempts = ["train"] * (1 + len(answers))
    assert [split for _, split in server.requests] == [*attempts, "valid", "test"]


@pytest.mark.parametrize(
    "answer", [missing, garbage, silent, truncated_chunk, other_text, redirecting, flooding]
)
def test_a_bad_mirror_is_given_up_for_the_next(server: Server, tmp_path, answer: Answer) -> None:
    bad, good = server.mirror("bad", *[answer] * 99), server.mirror("good")
    assert fetch_corpus.fetch(corpus(bad, good), tmp_path) == good
    assert_whole(tmp_path)
    assert ("flooded", "") not in server.requests


def test_a_mirror_that_drips_or_hangs_is_given_up_in_time(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()

    def dripping(handler: Handler, text: bytes) -> None:
        begin(handler, 200)
        with contextlib.suppress(OSError):
            while not over.wait(0.05):
                handler.wfile.write(b"the ")

    monkeypatch.setattr(fetch_corpus, "TIMEOUT_S", 1)
    monkeypatch.setattr(fetch_corpus, "ATTEMPT_S", 0.5)
    monkeypatch.setattr(fetch_corpus, "ATTEMPTS", 2)  # what dripped is no part of the text
    good = server.mirror("good")
    for answer in (dripping, lambda *_: over.wait(10)):
        bad = server.mirror("bad", answer, answer)
        assert fetch_corpus.fetch(corpus(bad, good), tmp_path) == good
        assert_whole(tmp_path)
    over.set()


@pytest.mark.parametrize("content", [None, b"another edition"])
def test_local_folder_that_will_not_do(tmp_path: Path, content: bytes | None) -> None:
    """A folder that the user named is never replaced by something else."""
    if content:
        (tmp_path / "ptb.train.txt").write_bytes(content)
    reason = "is not the expected file" if content else "does not exist"
    with pytest.raises(fetch_corpus.Unavailable, match=f"^{tmp_path}/ptb.train.txt {reason}"):
        fetch_corpus.fetch(corpus(path=str(tmp_path), stand_in=True), tmp_path / "out")
