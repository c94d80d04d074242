"""Where do a partition's inputs come from, and where does its work go? A log: the port, and its adapters."""
