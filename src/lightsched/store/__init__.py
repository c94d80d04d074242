"""Where does a partition keep its state? In RocksDB: states and definitions, and the indexes derived from them."""
