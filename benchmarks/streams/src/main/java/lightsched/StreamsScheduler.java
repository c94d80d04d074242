package lightsched;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Cache;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;

/**
 * What would one build without lightsched? The plainest scheduler on Kafka Streams, exactly once.
 *
 * <p>Every event of {@code <prefix>events} goes into RocksDB under its due; every 100 ms, what is due goes to {@code
 * <prefix>deliveries} and out of RocksDB. One-shots only: no cancel, no replace, no status, no retry, no audit. It does
 * less than lightsched does, so it is a rival that is hard to beat, not one that is easy; {@link FullScheduler} does
 * the same work.
 *
 * <p>Arguments: bootstrap, prefix, state folder. Prints READY when it runs.
 */
public final class StreamsScheduler {
  static final String STORE = "due";
  static final Duration TICK = Duration.ofMillis(100);

  /**
   * Fired by one tick of one partition; the rest waits for the next tick. A burst in one go would outlive its
   * transaction (10 s); fewer at once would mean more waiting for ticks.
   */
  static final int MOST_AT_ONCE = 4_000;

  public static void main(String[] arguments) throws InterruptedException {
    String bootstrap = arguments[0], prefix = arguments[1], folder = arguments[2];
    run(topology(prefix), settings(bootstrap, prefix, folder));
  }

  /** Until it is stopped. */
  static void run(Topology topology, Properties settings) throws InterruptedException {
    KafkaStreams streams = new KafkaStreams(topology, settings);
    CountDownLatch ended = new CountDownLatch(1);
    streams.setStateListener(
        (now, before) -> {
          if (now == KafkaStreams.State.RUNNING) System.out.println("READY");
          if (now == KafkaStreams.State.ERROR || now == KafkaStreams.State.NOT_RUNNING) ended.countDown();
        });
    Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(10))));
    streams.start();
    ended.await();
    if (streams.state() == KafkaStreams.State.ERROR) Runtime.getRuntime().halt(1);
  }

  static Topology topology(String prefix) {
    return new Topology()
        .addSource("events", new ByteArrayDeserializer(), new ByteArrayDeserializer(), prefix + "events")
        .addProcessor("scheduler", Scheduler::new, "events")
        .addStateStore(store(STORE), "scheduler")
        .addSink(
            "deliveries", prefix + "deliveries", new ByteArraySerializer(), new ByteArraySerializer(), "scheduler");
  }

  /** RocksDB with a changelog. */
  static StoreBuilder<KeyValueStore<Bytes, byte[]>> store(String name) {
    return Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore(name), Serdes.Bytes(), Serdes.ByteArray())
        .withLoggingEnabled(Map.of())
        // Every key is written once, and deleted or rewritten once much later, so a cache should save nothing. With
        // one, this scheduler's ingest, burst and lateness were all worse, in both of two small runs.
        .withCachingDisabled();
  }

  static Properties settings(String bootstrap, String prefix, String folder) {
    Properties settings = new Properties();
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, prefix + "streams");
    settings.put(StreamsConfig.STATE_DIR_CONFIG, folder);
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    // One for each core of the machine that the figures are for. Each has one transactional producer.
    settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
    // The default with exactly-once, written down: shorter means more transactions, longer means later.
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
    // The default. Undecided: in small runs on a busy machine 10 ms mostly fired a burst faster, and mostly had a
    // higher median lateness.
    settings.put(StreamsConfig.POLL_MS_CONFIG, 100);
    // Enough for a commit interval's worth of events in one poll, and in the buffers between poll and processing: with
    // the default of 1,000 records a partition is paused and resumed all the time when there is a backlog.
    settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_POLL_RECORDS_CONFIG), 5_000);
    settings.put(StreamsConfig.BUFFERED_RECORDS_PER_PARTITION_CONFIG, 5_000);
    settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG), 4 << 20);
    settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
    // Large batches, compressed as lightsched does it. The commit flushes, so lingering costs no time.
    settings.put(StreamsConfig.producerPrefix(ProducerConfig.COMPRESSION_TYPE_CONFIG), "lz4");
    settings.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 512 << 10);
    settings.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), 100);
    settings.put(StreamsConfig.producerPrefix(ProducerConfig.BUFFER_MEMORY_CONFIG), 128L << 20);
    settings.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, RocksMemory.class);
    return settings;
  }

  /** Streams' own settings (16 MB write buffers, no log, bloom filters), but one block cache for all partitions. */
  public static final class RocksMemory implements RocksDBConfigSetter {
    private static final Cache CACHE = new LRUCache(256L << 20);

    @Override
    public void setConfig(String store, Options options, Map<String, Object> settings) {
      BlockBasedTableConfig table = (BlockBasedTableConfig) options.tableFormatConfig();
      table.setBlockCache(CACHE);
      options.setTableFormatConfig(table);
    }

    @Override
    public void close(String store, Options options) {
      // The cache lives as long as the process.
    }
  }

  /** One partition. The store's keys are the due (8 bytes, so that their order is that of time) and the id. */
  static final class Scheduler implements Processor<byte[], byte[], byte[], byte[]> {
    private ProcessorContext<byte[], byte[]> context;
    private KeyValueStore<Bytes, byte[]> store;

    /** Nothing in the store is due before: scans need not cross what was deleted. */
    private long earliest = 0;

    @Override
    public void init(ProcessorContext<byte[], byte[]> context) {
      this.context = context;
      this.store = context.getStateStore(STORE);
      context.schedule(TICK, PunctuationType.WALL_CLOCK_TIME, this::fire);
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      Event event = Event.parse(record.value());
      earliest = Math.min(earliest, event.due());
      store.put(event.key(), event.payload());
    }

    private void fire(long now) {
      if (earliest > now) return;
      long reached = now + 1;
      int fired = 0;
      try (var due = store.range(Event.bound(earliest), Event.bound(now + 1))) {
        while (due.hasNext()) {
          var entry = due.next();
          if (fired++ == MOST_AT_ONCE) {
            reached = Event.dueOf(entry.key);
            break;
          }
          context.forward(Event.delivery(entry.key, entry.value));
          store.delete(entry.key);
        }
      }
      earliest = reached;
    }
  }

  /** An event, as far as a scheduler must look into it. */
  record Event(long due, Bytes key, byte[] payload) {
    private static final byte[] ID = "\"id\":\"".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] AT = "\"at\":".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] PAYLOAD = "\"payload\":".getBytes(StandardCharsets.US_ASCII);

    /** Not JSON in general: three fields in the order in which the load has them, found in one pass. */
    static Event parse(byte[] json) {
      int id = after(ID, json, 0);
      int idEnd = id;
      while (json[idEnd] != '"') idEnd++;
      int at = after(AT, json, idEnd);
      long due = 0;
      for (; json[at] >= '0' && json[at] <= '9'; at++) due = due * 10 + json[at] - '0';
      int payload = after(PAYLOAD, json, at);
      byte[] key = ByteBuffer.allocate(8 + idEnd - id).putLong(due).put(json, id, idEnd - id).array();
      byte[] content = Arrays.copyOfRange(json, payload, json.length - 1); // up to the last brace
      return new Event(due, new Bytes(key), content);
    }

    private static int after(byte[] mark, byte[] json, int from) {
      for (int start = from; ; start++) {
        int same = 0;
        while (same < mark.length && json[start + same] == mark[same]) same++;
        if (same == mark.length) return start + same;
      }
    }

    /** Before all keys of this due. */
    static Bytes bound(long due) {
      return new Bytes(ByteBuffer.allocate(8).putLong(due).array());
    }

    static long dueOf(Bytes key) {
      return ByteBuffer.wrap(key.get()).getLong();
    }

    static Record<byte[], byte[]> delivery(Bytes key, byte[] payload) {
      long due = dueOf(key);
      byte[] id = Arrays.copyOfRange(key.get(), 8, key.get().length);
      RecordHeaders headers = new RecordHeaders();
      headers.add("ls_id", id);
      headers.add("ls_due", Long.toString(due).getBytes(StandardCharsets.US_ASCII));
      return new Record<>(id, payload, due, headers);
    }
  }
}
