"""retryproof: does a service with idempotency keys keep its promises?"""

__version__ = "0.1.0"
