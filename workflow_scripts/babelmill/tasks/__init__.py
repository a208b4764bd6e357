"""Task data: readers of the official layouts and the one normalized form."""

from babelmill.tasks.examples import Example, read_examples, write_examples

__all__ = ["Example", "read_examples", "write_examples"]
