"""What each kind of task brings: its examples, inputs, targets, metrics and output."""

from babelmill.heads.base import Encoded, Head
from babelmill.heads.multiple_choice import MultipleChoice
from babelmill.heads.question_answering import QuestionAnswering
from babelmill.heads.sequence_classification import SequenceClassification
from babelmill.heads.token_classification import TokenClassification

# By the names of ``babelmill.kinds``.
HEADS: dict[str, type[Head]] = {
    head.kind: head
    for head in (
        SequenceClassification,
        TokenClassification,
        QuestionAnswering,
        MultipleChoice,
    )
}

__all__ = ["HEADS", "Encoded", "Head"]
