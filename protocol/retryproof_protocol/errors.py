"""Two protocol errors, told apart by whose fault it is. Nothing else escapes this package."""


class ProtocolError(Exception):
    """Either side broke the protocol."""


class LocalProtocolError(ProtocolError):
    """The caller of this package used it against its rules: a bug on our side."""


class RemoteProtocolError(ProtocolError):
    """The adapter wrote something that the protocol does not allow.

    Attributes:
        rule: a stable name of the broken rule, such as "not-json".
        message: what it wrote and why that is refused, as whole sentences.
        advice: what the adapter's author can do about it, as whole sentences; may be empty.
    """

    def __init__(self, rule: str, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message
        self.advice = advice
