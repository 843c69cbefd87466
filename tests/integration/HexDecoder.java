import org.apache.kafka.tools.api.Decoder;

/** Has Kafka's tools print keys and payloads as hexadecimal digits, so that every byte can be read back. */
public class HexDecoder implements Decoder<String> {
    public HexDecoder() { }

    @Override
    public String fromBytes(byte[] bytes) {
        StringBuilder digits = new StringBuilder(2 * bytes.length);
        for (byte one : bytes) digits.append(String.format("%02x", one));
        return digits.toString();
    }
}
