import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.requests.RequestHeader;

/** Messages to bytes and back by Kafka's generated classes, many in one call: a call from Python costs 0.3 ms. */
public class Messages {
    private static final String PACKAGE = "org.apache.kafka.common.message.";
    private static final ObjectMapper MAPPER =
        new ObjectMapper().configure(JsonParser.Feature.ALLOW_NON_NUMERIC_NUMBERS, true);

    /** For each [name, version to read it in, version to write it in, message], its bytes behind that version, or null. */
    public static String encode(String told) throws Exception {
        ArrayNode answers = MAPPER.createArrayNode();
        for (JsonNode one : MAPPER.readTree(told)) {
            Method read = converter(one).getMethod("read", new Class[] {JsonNode.class, short.class});
            try {
                Message message = (Message) read.invoke(null, new Object[] {one.get(3), version(one, 1)});
                answers.add(MessageUtil.toVersionPrefixedBytes(version(one, 2).shortValue(), message));
            } catch (InvocationTargetException refused) {
                answers.addNull();
            } catch (RuntimeException refused) {
                answers.addNull();
            }
        }
        return answers.toString();
    }

    /** For each [name, version, bytes], the message, or as a text why Kafka refuses it. It does not mind bytes left over. */
    public static String decode(String told) throws Exception {
        ArrayNode answers = MAPPER.createArrayNode();
        for (JsonNode one : MAPPER.readTree(told)) {
            Class data = Class.forName(PACKAGE + ((JsonNode) one.get(0)).asText());
            Constructor made = data.getConstructor(new Class[] {Readable.class, short.class});
            Method write = converter(one).getMethod("write", new Class[] {data, short.class});
            Readable bytes = new ByteBufferAccessor(ByteBuffer.wrap(((JsonNode) one.get(2)).binaryValue()));
            try {
                Object message = made.newInstance(new Object[] {bytes, version(one, 1)});
                answers.add((JsonNode) write.invoke(null, new Object[] {message, version(one, 1)}));
            } catch (InvocationTargetException refused) {
                answers.add(refused.getCause().toString());
            }
        }
        return answers.toString();
    }

    /** For each of the frames without their length, what its header says, and where the body begins. */
    public static String requestHeaders(String frames) throws Exception {
        ArrayNode answers = MAPPER.createArrayNode();
        for (JsonNode frame : MAPPER.readTree(frames)) {
            ByteBuffer buffer = ByteBuffer.wrap(frame.binaryValue());
            RequestHeader header = RequestHeader.parse(buffer);
            ArrayNode answer = answers.addArray();
            answer.add((int) header.data().requestApiKey()).add((int) header.apiVersion());
            answer.add(header.correlationId()).add(header.clientId()).add(buffer.position());
        }
        return answers.toString();
    }

    private static Class converter(JsonNode one) throws Exception {
        return Class.forName(PACKAGE + ((JsonNode) one.get(0)).asText() + "JsonConverter");
    }

    private static Short version(JsonNode one, int position) {
        return Short.valueOf((short) ((JsonNode) one.get(position)).asInt());
    }
}
