"""A running process: owns partitions, runs their workers, answers reads."""
