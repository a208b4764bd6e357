"""Two engines that compute the same: layers that run, or a program built from them."""

from babelmill.training.engines.base import Engine, Objective, Part

__all__ = ["Engine", "Objective", "Part", "make_engine"]


def make_engine(name: str, *arguments, **options) -> Engine:
    """The engine of that name, ``dynamic`` or ``static``, from the same arguments.

    A layer, an objective, settings for schedule and optimizer; ``world``, the number of
    processes; ``masks``, what weights are multiplied by after every update (by
    parameter, of its shape).
    """
    if name == "static":
        from babelmill.training.engines.static import StaticEngine as chosen
    else:
        from babelmill.training.engines.dynamic import DynamicEngine as chosen
    return chosen(*arguments, **options)
