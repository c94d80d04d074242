"""make bench-kafka: lightsched on Kafka beside Kafka Streams and bare aiokafka."""
