"""KyTea, the word segmenter of Japanese: loading models and training them."""

import ctypes
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import Mykytea

from babelmill.errors import UserError

_RESERVED = re.compile(r"[/\\&]")


def load(model: Path) -> Callable[[str], Sequence[str]]:
    """The words of a text, as a function, by a model file.

    Raises:
        UserError: it is not a KyTea model.
    """
    # KyTea splits its arguments at blanks: give it a name without any.
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder, "model.bin")
        link.symlink_to(model.resolve())
        try:
            return Mykytea.Mykytea(f"-model {link}").getWS
        except RuntimeError as error:
            raise UserError(f"{model}: not a KyTea model: {error}") from error


def train(sentences: Iterable[Sequence[str]], model: Path) -> None:
    """Train a model on sentences of words and write it.

    The package wraps KyTea's training but not the reading of its settings, so that is
    called in the library itself.
    """
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder, "corpus.txt")
        with open(corpus, "w", encoding="utf-8") as output:
            for words in sentences:
                escaped = (_RESERVED.sub(r"\\\g<0>", word) for word in words)
                print(*escaped, file=output)
        trainer = Mykytea.Kytea()
        trained = Path(folder, "model.bin")
        command = f"train-kytea -notags -encode utf8 -full {corpus} -model {trained}"
        arguments = [word.encode() for word in command.split()]
        library = ctypes.CDLL(Mykytea._Mykytea.__file__)
        read_settings = library._ZN5kytea11KyteaConfig21parseTrainCommandLineEiPPKc
        read_settings.restype = None
        read_settings(
            ctypes.c_void_p(int(trainer.getConfig())),
            len(arguments),
            (ctypes.c_char_p * len(arguments))(*arguments),
        )
        trainer.trainAll()
        shutil.copyfile(trained, model)
