"""The other end of a conversation, without requests around it."""

from kafka_lagoon.sasl.conversation import Login, Tokens


def begun(mechanism: Login) -> tuple[Tokens, bytes]:
    """A conversation, and its first token."""
    tokens = mechanism.tokens()
    return tokens, next(tokens)


def ended(tokens: Tokens, answer: bytes) -> bool:
    """True if an answer ends the conversation without an error."""
    try:
        tokens.send(answer)
    except StopIteration:
        return True
    return False


def answered(tokens: Tokens, *answers: bytes) -> bytes:
    """The token after the last of several answers."""
    return [tokens.send(answer) for answer in answers][-1]
