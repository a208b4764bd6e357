"""What an engine trains a head towards."""

from types import ModuleType

from babelmill.heads import Head
from babelmill.training import engines


def of_parts(head: Head, family: ModuleType) -> engines.Objective:
    """The loss of parts of a batch, which add up to the mean over its targets."""

    def losses(model, batch, causal):
        import paddle

        loss = head.loss(family.classify(model, batch), batch["labels"])
        loss = loss * batch["per_target"]
        return paddle.stack([loss, paddle.zeros_like(loss)])

    return losses
