"""The broker's side of a SASL exchange, without requests around it."""

from kafka_lagoon.sasl.conversation import Login, Tokens


def begun(mechanism: Login) -> tuple[Tokens, bytes]:
    """Begin an exchange, and return its first token."""
    tokens = mechanism.tokens()
    return tokens, next(tokens)


def ended(tokens: Tokens, answer: bytes) -> bool:
    """Return True if an answer ends the exchange without an error."""
    try:
        tokens.send(answer)
    except StopIteration:
        return True
    return False


def answered(tokens: Tokens, *answers: bytes) -> bytes:
    """Send several answers, and return the token after the last one."""
    return [tokens.send(answer) for answer in answers][-1]
