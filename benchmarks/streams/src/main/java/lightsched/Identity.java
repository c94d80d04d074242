package lightsched;

import org.apache.kafka.common.utils.Bytes;

/** Which event is meant? Its tenant, key and id; in the stores {@code tenant NUL key NUL id}. */
record Identity(String tenant, String key, String id) {
  static Identity of(Bytes bytes) {
    String text = Text.of(bytes.get());
    int key = text.indexOf('\0') + 1;
    int id = text.indexOf('\0', key) + 1;
    return new Identity(text.substring(0, key - 1), text.substring(key, id - 1), text.substring(id));
  }

  Bytes bytes() {
    return new Bytes(Text.bytes(tenant + '\0' + key + '\0' + id));
  }
}
