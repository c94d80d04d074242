package lightsched;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.OffsetDateTime;
import java.util.Locale;
import java.util.regex.Pattern;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/** What does a record ask for? From its JSON to a checked command, or to the reason why not. */
record Command(Op op, Identity identity, long due, byte[] definition) {
  enum Op {
    SCHEDULE,
    CANCEL;

    /** As in JSON. */
    final String word = name().toLowerCase(Locale.ROOT);
  }

  /** It makes no sense; the message says why. */
  static final class Invalid extends Exception {
    Invalid(String why) {
      super(why);
    }
  }

  private static final JsonFactory JSON = new JsonFactory();
  private static final Pattern TENANT = Pattern.compile("[a-z0-9][a-z0-9._-]{0,62}");
  private static final Pattern TYPE = Pattern.compile("[\\x21-\\x7e]{1,200}");
  private static final String DEFAULT_TENANT = "default", DEFAULT_TYPE = "event", AUTO = "auto:";
  private static final int MOST_NAME = 200;
  private static final int MOST_PAYLOAD = 256 << 10;
  private static final long HORIZON_MS = 3650L * 86_400_000;
  private static final long NONE = Long.MIN_VALUE;

  static Command read(Record<byte[], byte[]> record, RecordMetadata place) throws Invalid {
    if (record.value() == null) throw new Invalid("the record has no value: send the event as JSON");
    try {
      return new Fields(record.value()).command(record, place);
    } catch (JsonProcessingException error) {
      throw new Invalid("is not JSON: " + error.getOriginalMessage());
    } catch (IOException error) {
      throw new Invalid("is not JSON: " + error.getMessage());
    }
  }

  /** The fields of the JSON, in whatever order they come. The payload is not read, only where it begins and ends. */
  private static final class Fields {
    private final byte[] json;
    private Op op = Op.SCHEDULE;
    private String tenant = DEFAULT_TENANT;
    private String type = DEFAULT_TYPE;
    private String key = "";
    private String id = "";
    private long due = NONE;
    private int payload;
    private int payloadEnd;

    Fields(byte[] json) throws IOException, Invalid {
      this.json = json;
      try (JsonParser parser = JSON.createParser(json)) {
        if (parser.nextToken() != JsonToken.START_OBJECT) throw new Invalid("must be an object");
        while (parser.nextToken() != JsonToken.END_OBJECT) {
          String field = parser.currentName();
          boolean isMs = parser.nextToken() == JsonToken.VALUE_NUMBER_INT;
          switch (field) {
            case "id" -> id = string(parser, field);
            case "key" -> key = string(parser, field);
            case "tenant" -> tenant = string(parser, field);
            case "type" -> type = string(parser, field);
            case "op" -> op = op(string(parser, field));
            case "at" -> due = isMs ? parser.getLongValue() : time(string(parser, field));
            case "payload" -> {
              payload = (int) parser.currentTokenLocation().getByteOffset();
              parser.skipChildren();
              parser.finishToken();
              payloadEnd = (int) parser.currentLocation().getByteOffset();
            }
            default -> throw new Invalid(field + ": is unknown");
          }
        }
        if (parser.nextToken() != null) throw new Invalid("must be one object");
      }
    }

    Command command(Record<byte[], byte[]> record, RecordMetadata place) throws Invalid {
      if (id.isEmpty() && op == Op.SCHEDULE) {
        id = AUTO + place.partition() + "-" + place.offset() + "-" + record.timestamp();
      } else {
        if (id.startsWith(AUTO)) throw new Invalid("id: `auto:` is reserved");
        checkName("id", id);
      }
      if (key.isEmpty()) key = record.key() == null || record.key().length == 0 ? id : Text.of(record.key());
      if (!key.equals(id)) checkName("key", key);
      if (!tenant.equals(DEFAULT_TENANT)) check("tenant", tenant, TENANT);
      Identity identity = new Identity(tenant, key, id);
      if (op == Op.CANCEL) return new Command(op, identity, 0, null);
      if (!type.equals(DEFAULT_TYPE)) check("type", type, TYPE);
      if (due == NONE) throw new Invalid("at: is missing");
      if (due < 0 || due > record.timestamp() + HORIZON_MS) throw new Invalid("at: is out of range");
      if (payloadEnd - payload > MOST_PAYLOAD) throw new Invalid("payload: is too large");
      return new Command(op, identity, due, Definition.bytes(due, type, json, payload, payloadEnd));
    }

    private static String string(JsonParser parser, String field) throws IOException, Invalid {
      if (parser.currentToken() != JsonToken.VALUE_STRING) throw new Invalid(field + ": has the wrong type");
      return parser.getText();
    }

    private static Op op(String word) throws Invalid {
      for (Op op : Op.values()) if (op.word.equals(word)) return op;
      throw new Invalid("op: must be schedule or cancel");
    }

    private static long time(String text) throws Invalid {
      try {
        return OffsetDateTime.parse(text).toInstant().toEpochMilli();
      } catch (DateTimeException error) {
        throw new Invalid("at: must be RFC 3339 with an offset, or milliseconds");
      }
    }

    /** Printable characters, and not too many. */
    private static void checkName(String field, String name) throws Invalid {
      boolean good = !name.isEmpty() && name.length() <= MOST_NAME;
      for (int index = 0; good && index < name.length(); index++) good = !Character.isISOControl(name.charAt(index));
      if (!good) throw new Invalid(field + ": must have 1 to " + MOST_NAME + " printable characters");
    }

    private static void check(String field, String text, Pattern allowed) throws Invalid {
      if (!allowed.matcher(text).matches()) throw new Invalid(field + ": must match " + allowed);
    }
  }
}
