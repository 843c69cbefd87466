"""The other end of a conversation, without requests around it."""

from kafka_lagoon.sasl.conversation import Login, Tokens


def begun(mechanism: Login) -> tuple[Tokens, bytes]:
    """A conversation, and what it says first."""
    tokens = mechanism.tokens()
    return tokens, next(tokens)


def ended(tokens: Tokens, answer: bytes) -> bool:
    """Whether the conversation is over, and well, with an answer."""
    try:
        tokens.send(answer)
    except StopIteration:
        return True
    return False


def answered(tokens: Tokens, *answers: bytes) -> bytes:
    """What a conversation says after the last of several answers."""
    return [tokens.send(answer) for answer in answers][-1]
