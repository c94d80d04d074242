"""A shop reminds its customers to pay: order and reminder are one transaction, and so are payment and cancel.

    python shop.py order 42 ada       # reminds in 5 seconds, unless …
    python shop.py pay 42             # … this comes before

PostgreSQL is found by libpq's own variables: PGHOST, PGUSER, PGDATABASE, ….
"""

import argparse
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg.types.json import Json


def order(db: psycopg.Connection[Any], id: str, customer: str, remind_in: timedelta = timedelta(seconds=5)) -> None:
    with db.transaction():
        db.execute("INSERT INTO orders (id, customer) VALUES (%s, %s)", [id, customer])
        tell(
            db,
            id=f"remind-{id}",
            key=id,
            type="order.remind",
            at=(datetime.now(UTC) + remind_in).isoformat(),
            payload={"order": id, "customer": customer},
        )


def pay(db: psycopg.Connection[Any], id: str) -> None:
    with db.transaction():
        # The order's row is locked from here on, so what is told about one order is told in the order of its commits.
        if db.execute("UPDATE orders SET paid = true WHERE id = %s AND NOT paid", [id]).rowcount:
            tell(db, op="cancel", id=f"remind-{id}", key=id)


def tell(db: psycopg.Connection[Any], **event: Any) -> None:
    """Tell lightsched, if and only if this transaction commits."""
    db.execute("INSERT INTO outbox (event) VALUES (%s)", [Json(event)])


def main() -> None:
    arguments = argparse.ArgumentParser(description="A shop that reminds its customers to pay.")
    arguments.add_argument("what", choices=["order", "pay"])
    arguments.add_argument("id")
    arguments.add_argument("customer", nargs="?", default="ada")
    asked = arguments.parse_args()
    with psycopg.connect(autocommit=True) as db:
        if asked.what == "order":
            order(db, asked.id, asked.customer)
        else:
            pay(db, asked.id)


if __name__ == "__main__":
    main()
