"""The one exception that is meant for people."""


class UserError(Exception):
    """What is wrong, where it is and what to do, in one line.

    ``babelmill.script.run`` prints it without a traceback and exits with code 2.
    """
