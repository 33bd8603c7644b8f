"""Drives drf-idem's middleware around a Django REST framework view, in-process."""

from typing import TypedDict
from unittest.mock import Mock, patch

import django
from django.conf import settings
from django.core.cache import caches

TICK_SECONDS = 10
RETENTION_TICKS = 6

settings.configure(
    CACHES={"drf_idem": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}},
    DRF_IDEM={"TTL": RETENTION_TICKS * TICK_SECONDS, "CACHE_BACKEND": "drf_idem"},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "drf_idem"],
    MIDDLEWARE=["drf_idem.middleware.IdempotencyMiddleware"],
    ROOT_URLCONF=__name__,
)
django.setup()

# ruff: noqa: E402 - Django REST framework reads the settings as it is imported.
from django.urls import path
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIClient


class Operation(TypedDict):
    at: int
    key: str
    value: str
    delivery: str


class Observation(TypedDict):
    status: int | None
    receipt: int | None
    committedWrites: int


clock = Mock()
# The cache dates its records by `time.time()` in these two modules; the rest stays real.
patch("django.core.cache.backends.base.time", clock).start()
patch("django.core.cache.backends.locmem.time", clock).start()

committed_orders: list[str] = []
client = APIClient()


@api_view(["POST"])
def create_order(request: Request) -> Response:
    committed_orders.append(request.data["item"])
    return Response({"id": len(committed_orders)}, status=201)


urlpatterns = [path("orders/", create_order)]


def reset() -> None:
    caches["drf_idem"].clear()
    committed_orders.clear()
    clock.time.return_value = 0


def step(operation: Operation) -> Observation:
    clock.time.return_value = operation["at"] * TICK_SECONDS
    response = client.post(
        "/orders/",
        {"item": operation["value"]},
        headers={"X-Request-ID": operation["key"]},
        format="json",
    )
    received = operation["delivery"] == "received"
    return {
        "status": response.status_code if received else None,
        "receipt": response.json().get("id") if received else None,
        "committedWrites": len(committed_orders),
    }
