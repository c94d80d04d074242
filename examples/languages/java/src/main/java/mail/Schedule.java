package mail;

import static mail.Place.KAFKA;
import static mail.Place.PREFIX;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Schedules a mail for two seconds from now: {@code Schedule ID ADDRESS}. */
public final class Schedule {
    public static void main(String[] args) throws Exception {
        String id = args[0], to = args[1];
        var event = Map.of(
                "id", id,
                "key", to, // mails to one address keep their order
                "type", "mail.send",
                "in", "2s",
                "retry", Map.of("delays", List.of("1s")), // so that it is tracked: executors report
                "payload", Map.of("to", to, "text", "Hello from Java"));

        Map<String, Object> settings = Map.of("bootstrap.servers", KAFKA);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer())) {
            var value = new ObjectMapper().writeValueAsBytes(event);
            producer.send(new ProducerRecord<>(PREFIX + "events", to, value)).get();
        }
        System.out.println("scheduled " + id);
    }
}
