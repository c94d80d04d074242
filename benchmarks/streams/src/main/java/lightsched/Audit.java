package lightsched;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.MinimalPrettyPrinter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.RecordCollector;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.internals.CacheFlushListener;
import org.apache.kafka.streams.state.internals.CachedStateStore;

/**
 * Who did what, when? A line of JSON for each transition, and one record for all lines of a partition in a transaction.
 *
 * <p>A processor sees one record at a time and is not told of a commit, so it can only write a record for each line, or
 * leave lines behind. What Streams does flush before each commit, in its transaction, are the caches of stores: so this
 * is a store that holds nothing but such a cache. That takes a few interfaces from Streams' internals.
 */
final class Audit implements StateStore, CachedStateStore<byte[], byte[]> {
  /** No topic takes much more in one record; what is more goes in several. */
  private static final int MOST_BYTES = 512 << 10;

  private static final ByteArraySerializer BYTES = new ByteArraySerializer();

  private final String name;
  private final String topic;
  private final ByteArrayOutputStream lines = new ByteArrayOutputStream();
  private final Text.Utc utc = new Text.Utc();
  private JsonGenerator json;
  private StateStoreContext context;

  Audit(String name, String topic) {
    this.name = name;
    this.topic = topic;
  }

  void command(long now, Command command, String outcome, State before, State after) {
    try {
      begin(now, command.op().word, command.identity());
      json.writeStringField("outcome", outcome);
      change(before, after);
      if (after != null && after.status() == State.Status.NOT_STARTED) json.writeNumberField("due", after.due());
      end();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  void delivery(long now, Identity event, State before, State after, String id) {
    try {
      begin(now, "deliver", event);
      change(before, after);
      json.writeNumberField("due", before.due());
      json.writeNumberField("attempt", 1);
      json.writeStringField("delivery", id);
      end();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  void refusal(long now, String why) {
    try {
      begin(now, "refuse", new Identity("", "", ""));
      json.writeStringField("outcome", "INVALID");
      json.writeStringField("reason", why);
      end();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private void begin(long now, String what, Identity event) throws IOException {
    byte[] at = utc.format(now);
    json.writeStartObject();
    json.writeFieldName("at");
    json.writeRawUTF8String(at, 0, at.length);
    json.writeStringField("what", what);
    json.writeStringField("tenant", event.tenant());
    json.writeStringField("key", event.key());
    json.writeStringField("id", event.id());
  }

  private void change(State before, State after) throws IOException {
    if (after != null) json.writeNumberField("revision", after.revision());
    if (before != null) json.writeStringField("before", before.status().name());
    if (after != null) json.writeStringField("after", after.status().name());
  }

  private void end() throws IOException {
    json.writeEndObject();
    json.writeRaw('\n');
    if (lines.size() + json.getOutputBuffered() > MOST_BYTES) flushCache();
  }

  /** Streams calls it before it commits. */
  @Override
  @SuppressWarnings("unchecked") // what it forwards is of no interest: it is asked for its metrics
  public void flushCache() {
    try {
      json.flush();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    if (lines.size() == 0) return;
    RecordCollector collector = ((RecordCollector.Supplier) context).recordCollector();
    int partition = context.taskId().partition();
    long now = System.currentTimeMillis();
    var inside = (InternalProcessorContext<Void, Void>) context;
    collector.send(topic, null, lines.toByteArray(), null, partition, now, BYTES, BYTES, name, inside);
    lines.reset();
  }

  @Override
  public void clearCache() {
    open();
  }

  private void open() {
    lines.reset();
    try {
      json = new JsonFactory().createGenerator(lines).setPrettyPrinter(new MinimalPrettyPrinter(""));
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  @Override
  public void init(StateStoreContext context, StateStore root) {
    this.context = context;
    open();
    context.register(root, (key, value) -> {});
  }

  @Override
  public boolean setFlushListener(CacheFlushListener<byte[], byte[]> listener, boolean sendOldValues) {
    return false;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void flush() {
    // Nothing to put on disk.
  }

  @Override
  public void close() {
    json = null;
  }

  @Override
  public boolean persistent() {
    return false;
  }

  @Override
  public boolean isOpen() {
    return json != null;
  }

  /** One for each partition. */
  record Builder(String name, String topic) implements StoreBuilder<Audit> {
    @Override
    public Audit build() {
      return new Audit(name, topic);
    }

    @Override
    public Map<String, String> logConfig() {
      return Map.of();
    }

    @Override
    public boolean loggingEnabled() {
      return false;
    }

    @Override
    public StoreBuilder<Audit> withCachingEnabled() {
      return this;
    }

    @Override
    public StoreBuilder<Audit> withCachingDisabled() {
      return this;
    }

    @Override
    public StoreBuilder<Audit> withLoggingEnabled(Map<String, String> settings) {
      throw new UnsupportedOperationException("the audit is a topic of its own");
    }

    @Override
    public StoreBuilder<Audit> withLoggingDisabled() {
      return this;
    }
  }
}
