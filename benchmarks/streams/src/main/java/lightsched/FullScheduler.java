package lightsched;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * What does the same work cost on Kafka Streams? For a one-shot, all that lightsched does, exactly once.
 *
 * <p>It reads JSON, tells a new definition from a changed and from a repeated one, cancels, keeps the status as
 * history, delivers with all headers, and writes an audit and dead letters. What it still lacks is in
 * benchmarks/README.md.
 *
 * <p>Three stores: {@code definitions} and {@code states} by identity, {@code due} by time and offset.
 *
 * <p>Arguments: bootstrap, prefix, state folder. Prints READY when it runs.
 */
public final class FullScheduler {
  private static final String DEFINITIONS = "definitions", STATES = "states", DUE = "due", AUDIT = "audit";
  private static final String DELIVERIES = "deliveries", DEAD_LETTER = "dead-letter";

  public static void main(String[] arguments) throws InterruptedException {
    String bootstrap = arguments[0], prefix = arguments[1], folder = arguments[2];
    StreamsScheduler.run(topology(prefix), StreamsScheduler.settings(bootstrap, prefix, folder));
  }

  static Topology topology(String prefix) {
    ByteArraySerializer bytes = new ByteArraySerializer();
    return new Topology()
        .addSource("events", new ByteArrayDeserializer(), new ByteArrayDeserializer(), prefix + "events")
        .addProcessor("scheduler", Scheduler::new, "events")
        .addStateStore(StreamsScheduler.store(DEFINITIONS), "scheduler")
        .addStateStore(StreamsScheduler.store(STATES), "scheduler")
        .addStateStore(StreamsScheduler.store(DUE), "scheduler")
        .addStateStore(new Audit.Builder(AUDIT, prefix + "audit"), "scheduler")
        .addSink(DELIVERIES, prefix + "deliveries", bytes, bytes, "scheduler")
        .addSink(DEAD_LETTER, prefix + "dead-letter", bytes, bytes, "scheduler");
  }

  /** One partition. */
  static final class Scheduler implements Processor<byte[], byte[], byte[], byte[]> {
    private ProcessorContext<byte[], byte[]> context;
    private KeyValueStore<Bytes, byte[]> definitions;
    private KeyValueStore<Bytes, byte[]> states;
    private KeyValueStore<Bytes, byte[]> dues;
    private Audit audit;
    private Emitter emitter;

    /** Nothing in the store is due before: scans need not cross what was deleted. */
    private long earliest = 0;

    @Override
    public void init(ProcessorContext<byte[], byte[]> context) {
      this.context = context;
      definitions = context.getStateStore(DEFINITIONS);
      states = context.getStateStore(STATES);
      dues = context.getStateStore(DUE);
      audit = context.getStateStore(AUDIT);
      emitter = new Emitter(context.taskId().partition(), Text.bytes("the secret of " + context.applicationId()));
      context.schedule(StreamsScheduler.TICK, PunctuationType.WALL_CLOCK_TIME, this::fire);
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      RecordMetadata place = context.recordMetadata().orElseThrow();
      long now = context.currentSystemTimeMs();
      Command command;
      try {
        command = Command.read(record, place);
      } catch (Command.Invalid problem) {
        refuse(record, place, now, problem.getMessage());
        return;
      }
      Bytes name = command.identity().bytes();
      State old = State.of(states.get(name));
      if (command.op() == Command.Op.SCHEDULE) schedule(command, name, old, record.timestamp(), place.offset(), now);
      else cancel(command, name, old, now);
    }

    private void schedule(Command command, Bytes name, State old, long appended, long offset, long now) {
      byte[] fingerprint = Text.fingerprint(command.definition());
      boolean fresh = old == null || old.status() == State.Status.CANCELLED;
      if (!fresh && Arrays.equals(old.fingerprint(), fingerprint)) {
        audit.command(now, command, "UNCHANGED", old, old);
        return;
      }
      State state = State.scheduled(old, appended, command.due(), offset, fingerprint);
      if (old != null && old.status() == State.Status.NOT_STARTED) dues.delete(dueKey(old.due(), old.seq()));
      definitions.put(name, command.definition());
      states.put(name, state.bytes());
      dues.put(dueKey(state.due(), state.seq()), name.get());
      earliest = Math.min(earliest, state.due());
      audit.command(now, command, fresh ? "SCHEDULED" : "REPLACED", old, state);
    }

    private void cancel(Command command, Bytes name, State old, long now) {
      if (old == null) {
        audit.command(now, command, "NOT_FOUND", null, null);
      } else if (old.status() != State.Status.NOT_STARTED) {
        String outcome = old.status() == State.Status.CANCELLED ? "CANCELLED" : "TOO_LATE";
        audit.command(now, command, outcome, old, old);
      } else {
        State state = old.ended(State.Status.CANCELLED, 0);
        dues.delete(dueKey(old.due(), old.seq()));
        states.put(name, state.bytes());
        audit.command(now, command, "CANCELLED", old, state);
      }
    }

    private void refuse(Record<byte[], byte[]> record, RecordMetadata place, long now, String why) {
      Headers headers = new RecordHeaders(record.headers());
      headers.add("ls_reason", Text.bytes("INVALID"));
      headers.add("ls_detail", Text.bytes(why));
      headers.add("ls_topic", Text.bytes(place.topic()));
      headers.add("ls_partition", Text.bytes(Integer.toString(place.partition())));
      headers.add("ls_offset", Text.bytes(Long.toString(place.offset())));
      context.forward(record.withHeaders(headers), DEAD_LETTER);
      audit.refusal(now, why);
    }

    private void fire(long now) {
      if (earliest > now) return;
      long reached = now + 1;
      int fired = 0;
      try (var due = dues.range(dueBound(earliest), dueBound(now + 1))) {
        while (due.hasNext()) {
          var entry = due.next();
          if (fired++ == StreamsScheduler.MOST_AT_ONCE) {
            reached = ByteBuffer.wrap(entry.key.get()).getLong();
            break;
          }
          fire(new Bytes(entry.value), now);
          dues.delete(entry.key);
        }
      }
      earliest = reached;
    }

    private void fire(Bytes name, long now) {
      Identity identity = Identity.of(name);
      State state = State.of(states.get(name));
      String id = emitter.id(identity, state);
      context.forward(emitter.delivery(id, identity, state, definitions.get(name)), DELIVERIES);
      State after = state.ended(State.Status.SUCCESS, now);
      states.put(name, after.bytes());
      audit.delivery(now, identity, state, after, id);
    }

    private static Bytes dueKey(long due, long seq) {
      return new Bytes(ByteBuffer.allocate(16).putLong(due).putLong(seq).array());
    }

    /** Before all keys of this due. */
    private static Bytes dueBound(long due) {
      return new Bytes(ByteBuffer.allocate(8).putLong(due).array());
    }
  }
}
