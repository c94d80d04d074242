from tests.api.conftest import name
from tests.client.conftest import on_kafka, server
from tests.postgres.cluster import database, postgres

__all__ = ["database", "name", "on_kafka", "postgres", "server"]
