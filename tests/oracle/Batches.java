import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.AbstractLegacyRecordBatch;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.ByteBufferOutputStream;
import org.apache.kafka.common.utils.internals.CloseableIterator;

/** Batches to bytes and back by MemoryRecords, many in one call: a call from Python for each record costs 0.1 ms. */
public class Batches {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    /** For each description in a JSON array, the bytes that Kafka writes. */
    public static String build(String told) throws Exception {
        ArrayNode built = MAPPER.createArrayNode();
        for (JsonNode batch : MAPPER.readTree(told)) built.add(buildOne(batch));
        return built.toString();
    }

    /** For each of the base64 texts in a JSON array, the batches that Kafka reads in the bytes. */
    public static String read(String buffers) throws Exception {
        ArrayNode answers = MAPPER.createArrayNode();
        for (JsonNode buffer : MAPPER.readTree(buffers)) readOne(buffer.binaryValue(), answers.addObject());
        return answers.toString();
    }

    private static byte[] buildOne(JsonNode told) throws Exception {
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(
            new ByteBufferOutputStream(1024),
            (byte) told.get("magic").asInt(),
            Compression.of(CompressionType.forName(told.get("codec").asText())).build(),
            TimestampType.forName(told.get("timestamp_type").asText()),
            told.get("base_offset").asLong(),
            told.get("log_append_time").asLong(),
            told.get("producer_id").asLong(),
            (short) told.get("producer_epoch").asInt(),
            told.get("base_sequence").asInt(),
            told.get("transactional").asBoolean(),
            told.get("control").asBoolean(),
            told.get("leader_epoch").asInt(),
            Integer.MAX_VALUE,
            told.get("delete_horizon").asLong());
        for (JsonNode record : told.get("records")) append(builder, record, told.get("control").asBoolean());
        if (told.get("last_offset").asLong() >= 0) builder.overrideLastOffset(told.get("last_offset").asLong());
        MemoryRecords records = builder.build();
        return bytes(told.get("removed").isEmpty() ? records.buffer() : compacted(records, told.get("removed")));
    }

    private static void append(MemoryRecordsBuilder builder, JsonNode told, boolean control) throws Exception {
        long offset = told.get("offset").asLong();
        JsonNode pairs = told.get("headers");
        Header[] headers = new Header[pairs.size()];
        for (int i = 0; i < headers.length; i++)
            headers[i] = header((JsonNode) pairs.get(i));
        SimpleRecord record = new SimpleRecord(
            told.get("timestamp_ms").asLong(), nullable(told.get("key")), nullable(told.get("value")), headers);
        if (control) builder.appendControlRecordWithOffset(offset, record);
        else builder.appendWithOffset(offset, record);
    }

    private static Header header(JsonNode pair) throws Exception {
        JsonNode key = (JsonNode) pair.get(0);
        return new RecordHeader(key.asText(), nullable((JsonNode) pair.get(1)));
    }

    /** What the log cleaner leaves of the records. */
    private static ByteBuffer compacted(MemoryRecords records, JsonNode removed) throws Exception {
        final Set<Long> offsets = new HashSet<>();
        for (JsonNode offset : removed) offsets.add(offset.asLong());
        MemoryRecords.RecordFilter filter = new MemoryRecords.RecordFilter(0, 0) {
            @Override
            protected BatchRetentionResult checkBatchRetention(RecordBatch batch) {
                boolean mayBeEmpty = batch.magic() == RecordBatch.MAGIC_VALUE_V2;
                return new BatchRetentionResult(
                    mayBeEmpty ? BatchRetention.RETAIN_EMPTY : BatchRetention.DELETE_EMPTY, false);
            }

            @Override
            protected boolean shouldRetainRecord(RecordBatch batch, Record record) {
                return !offsets.contains(record.offset());
            }
        };
        ByteBuffer left = ByteBuffer.allocate(2 * records.sizeInBytes() + 1024);
        // Before 4.0 the method also took the partition and a size, both for its log messages; since 4.4 a size again.
        for (Method method : MemoryRecords.class.getMethods()) {
            if (!method.getName().equals("filterTo")) continue;
            MemoryRecords.FilterResult result = (MemoryRecords.FilterResult) (method.getParameterCount() == 4
                ? method.invoke(records, filter, left, BufferSupplier.NO_CACHING, 1 << 20)
                : method.invoke(records, new TopicPartition("t", 0), filter, left, 1 << 20, BufferSupplier.NO_CACHING));
            left = result.outputBuffer();
        }
        left.flip();
        return left;
    }

    /** As a consumer with check.crcs reads, but on behind a batch that it refuses. Native codecs throw Errors, too. */
    private static void readOne(byte[] raw, ObjectNode answer) {
        ArrayNode batches = answer.putArray("batches");
        try {
            for (MutableRecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(raw)).batches())
                readBatch(batch, batches.addObject());
        } catch (Exception stopped) {
            answer.put("broken", stopped.toString());
        }
    }

    private static void readBatch(MutableRecordBatch batch, ObjectNode answer) {
        ArrayNode rows = MAPPER.createArrayNode();
        try {
            answer.put("magic", batch.magic());
            // Older formats do not know their first offset before they are decompressed.
            answer.put("base_offset", batch.magic() == RecordBatch.MAGIC_VALUE_V2 ? batch.baseOffset() : 0);
            answer.put("last_offset", batch.lastOffset());
            answer.put("leader_epoch", batch.partitionLeaderEpoch());
            answer.put("producer_id", batch.producerId());
            answer.put("producer_epoch", batch.producerEpoch());
            answer.put("transactional", batch.isTransactional());
            answer.put("control", batch.isControlBatch());
            batch.ensureValid();
            CloseableIterator<Record> records = batch.streamingIterator(BufferSupplier.create());
            try {
                while (records.hasNext()) readRecord(batch, (Record) records.next(), rows.addArray());
            } finally {
                records.close();
            }
            answer.set("rows", rows);
        } catch (Throwable refused) {
            answer.put("refusal", refused.toString());
        }
    }

    private static void readRecord(MutableRecordBatch batch, Record record, ArrayNode row) throws Exception {
        record.ensureValid();
        TimestampType type = record instanceof AbstractLegacyRecordBatch
            ? ((AbstractLegacyRecordBatch) record).timestampType() : batch.timestampType();
        row.add(record.offset()).add(record.timestamp()).add(type.id);
        if (batch.isControlBatch()) ControlRecordType.parse(record.key());
        row.add(bytes(record.key())).add(bytes(record.value()));
        ArrayNode headers = row.addArray();
        for (Header header : record.headers()) headers.addArray().add(rawKey(header)).add(header.value());
    }

    /** The key as it was sent. Kafka replaces what is not UTF-8 when it makes it a text. */
    private static byte[] rawKey(Header header) throws Exception {
        Field raw = RecordHeader.class.getDeclaredField("keyBuffer");
        raw.setAccessible(true);
        return bytes((ByteBuffer) raw.get(header));
    }

    private static byte[] nullable(JsonNode told) throws Exception {
        return told.isNull() ? null : told.binaryValue();
    }

    private static byte[] bytes(ByteBuffer buffer) {
        if (buffer == null) return null;
        byte[] copy = new byte[buffer.remaining()];
        ByteBuffer view = (ByteBuffer) buffer.duplicate();
        view.get(copy);
        return copy;
    }
}
