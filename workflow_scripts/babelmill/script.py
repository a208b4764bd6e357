"""How every workflow script starts and ends."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from babelmill.errors import UserError
from babelmill.files import sha256
from babelmill.progress import close_bars

BAD_INPUT = 2
# As shells say it of a program that SIGINT ended.
INTERRUPTED = 130
ERROR = "error: "


def run(main: Callable[[], None]) -> None:
    """Call ``main`` and turn what the user can mend into one line and exit code 2.

    Anything else is a fault of the program and keeps its traceback.
    """
    try:
        main()
    except UserError as error:
        _stop(str(error))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        # The reader of our output (head, less) has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        if error.filename is None:
            raise
        _stop(f"{error.filename}: {error.strerror}")


def named(text: str) -> tuple[str, str]:
    """Split an argument of the form ``NAME=VALUE``; for argparse's ``type``."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value


def positive(text: str) -> int:
    """A whole number of 1 or more; for argparse's ``type``."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def code() -> dict[str, str]:
    """The SHA-256 of the running script and of every module of the package."""
    package = Path(__file__).parent
    modules = {str(p.relative_to(package)): sha256(p) for p in package.rglob("*.py")}
    return {"script": sha256(sys.argv[0]), **modules}


def _stop(message: str) -> None:
    close_bars()
    print(ERROR + " ".join(message.split()), file=sys.stderr)
    raise SystemExit(BAD_INPUT)
