import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.FileOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Writes the records that a KafkaConsumer reads of a topic, from its log starts to its ends, into a file. */
public class Reader {
    /** The ends up to which it has read, as partition=offset with commas between. */
    public static String read(String servers, String topic, String isolation, int fetchBytes, String path) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("isolation.level", isolation);
        settings.put("enable.auto.commit", "false");
        settings.put("max.partition.fetch.bytes", String.valueOf(fetchBytes));
        KafkaConsumer consumer = new KafkaConsumer(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(path)));
        try {
            List partitions = new ArrayList();
            for (Object one : consumer.partitionsFor(topic))
                partitions.add(new TopicPartition(topic, ((PartitionInfo) one).partition()));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map ends = consumer.endOffsets(partitions);
            while (!isAt(consumer, ends))
                for (Object record : consumer.poll(Duration.ofMillis(200))) write((ConsumerRecord) record, ends, out);
            return spelled(ends);
        } finally {
            out.close();
            consumer.close();
        }
    }

    private static boolean isAt(KafkaConsumer consumer, Map ends) {
        for (Object entry : ends.entrySet()) {
            TopicPartition partition = (TopicPartition) ((Map.Entry) entry).getKey();
            if (consumer.position(partition) < ((Long) ((Map.Entry) entry).getValue()).longValue()) return false;
        }
        return true;
    }

    private static String spelled(Map ends) {
        StringBuilder text = new StringBuilder();
        for (Object entry : ends.entrySet()) {
            TopicPartition partition = (TopicPartition) ((Map.Entry) entry).getKey();
            text.append(text.length() == 0 ? "" : ",").append(partition.partition()).append("=");
            text.append(((Map.Entry) entry).getValue());
        }
        return text.toString();
    }

    private static void write(ConsumerRecord record, Map ends, DataOutputStream out) throws Exception {
        TopicPartition partition = new TopicPartition(record.topic(), record.partition());
        if (record.offset() >= ((Long) ends.get(partition)).longValue()) return;
        out.writeInt(record.partition());
        out.writeLong(record.offset());
        out.writeLong(record.timestamp());
        out.writeInt(record.timestampType().id);
        write((byte[]) record.key(), out);
        write((byte[]) record.value(), out);
        out.writeInt(record.headers().toArray().length);
        for (Header header : record.headers().toArray()) {
            write(header.key().getBytes(StandardCharsets.UTF_8), out);
            write(header.value(), out);
        }
    }

    private static void write(byte[] bytes, DataOutputStream out) throws Exception {
        out.writeInt(bytes == null ? -1 : bytes.length);
        if (bytes != null) out.write(bytes);
    }
}
