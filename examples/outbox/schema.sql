-- A shop's own table …
CREATE TABLE orders (
    id       text PRIMARY KEY,
    customer text NOT NULL,
    paid     boolean NOT NULL DEFAULT false
);

-- … and beside it what lightsched is to be told. A row is written by the transaction that it belongs to, and deleted
-- by the relay once it is on the events topic. (`json` keeps a payload byte for byte, `jsonb` would not.)
CREATE TABLE outbox (
    seq   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event json NOT NULL,

    -- If the relay dies at the wrong moment, a row is sent twice. So it must be one that may be.
    CONSTRAINT has_an_id      CHECK (event ->> 'id' IS NOT NULL),
    CONSTRAINT at_and_not_in  CHECK (event -> 'in' IS NULL), -- `in` would begin to wait again
    CONSTRAINT no_trigger     CHECK (event ->> 'op' IS DISTINCT FROM 'trigger'), -- it would run twice

    -- What Kafka does not take would hold up all that come after it.
    CONSTRAINT not_too_large  CHECK (octet_length(event::text) <= 512 * 1024)
);

-- The relay need not ask all the time: it is told.
CREATE FUNCTION outbox_is_filled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NOTIFY outbox;
    RETURN NULL;
END
$$;
CREATE TRIGGER outbox_is_filled AFTER INSERT ON outbox FOR EACH STATEMENT EXECUTE FUNCTION outbox_is_filled();
