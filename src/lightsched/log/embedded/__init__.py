"""How does lightsched run without Kafka? On a log of its own: topics, positions and stores in one RocksDB.

One process, one machine, no replication. A step is one batch; it is durable before anyone outside hears of it.
"""
