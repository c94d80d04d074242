package lightsched;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.streams.processor.api.Record;

/** What does an executor receive? The payload untouched, everything else in headers. One of these per partition. */
final class Emitter {
  private static final byte[] SPEC_VERSION = Text.bytes("1.0");
  private static final byte[] SOURCE = Text.bytes("/lightsched");
  private static final byte[] JSON = Text.bytes("application/json");
  private static final byte[] FIRST_ATTEMPT = Text.bytes("1");
  private static final HexFormat HEX = HexFormat.of();

  private final String prefix;
  private final byte[] partition;
  private final Mac mac;
  private final Text.Utc utc = new Text.Utc();

  Emitter(int partition, byte[] secret) {
    this.prefix = partition + ":";
    this.partition = Text.bytes(Integer.toString(partition));
    try {
      mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(secret, "HmacSHA256"));
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException(error);
    }
  }

  /** {@code partition:tenant/key/id/revision/due#attempt}, always the same for the same attempt. */
  String id(Identity event, State state) {
    String where = event.key().equals(event.id()) ? "" : quoted(event.key());
    String who = event.tenant() + "/" + where + "/" + quoted(event.id());
    return prefix + who + "/" + state.revision() + "/" + state.due() + "#1";
  }

  Record<byte[], byte[]> delivery(String id, Identity event, State state, byte[] definition) {
    byte[] name = Text.bytes(id);
    byte[] mark = mac.doFinal(name); // the first half is the token, the second the trace: one does not tell the other
    String trace = HEX.formatHex(mark, 16, 32);
    byte[] eventId = Text.bytes(event.id());
    RecordHeaders headers = new RecordHeaders();
    headers.add("ce_specversion", SPEC_VERSION);
    headers.add("ce_source", SOURCE);
    headers.add("ls_partition", partition);
    headers.add("ce_id", name);
    headers.add("ce_type", Definition.type(definition));
    headers.add("ce_subject", eventId);
    headers.add("ce_time", utc.format(state.due()));
    headers.add("ls_tenant", Text.bytes(event.tenant()));
    headers.add("ls_id", eventId);
    headers.add("ls_due", Text.bytes(Long.toString(state.due())));
    headers.add("ls_attempt", FIRST_ATTEMPT);
    headers.add("ls_report", Text.bytes(HEX.formatHex(mark, 0, 16)));
    headers.add("traceparent", Text.bytes("00-" + trace + "-" + trace.substring(16) + "-01"));
    byte[] payload = Definition.payload(definition);
    if (payload.length > 0) headers.add("content-type", JSON);
    return new Record<>(Text.bytes(event.key()), payload, state.due(), headers);
  }

  private static String quoted(String text) {
    for (int index = 0; index < text.length(); index++) {
      char one = text.charAt(index);
      boolean plain = one >= 'a' && one <= 'z' || one >= 'A' && one <= 'Z' || one >= '0' && one <= '9';
      if (!plain && "_.~-".indexOf(one) < 0) return percentEncoded(text);
    }
    return text;
  }

  private static String percentEncoded(String text) {
    String form = URLEncoder.encode(text, StandardCharsets.UTF_8);
    return form.replace("+", "%20").replace("*", "%2A").replace("%7E", "~");
  }
}
