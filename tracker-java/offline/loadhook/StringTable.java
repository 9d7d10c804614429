package loadhook;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** The string table; entry 0 is the empty string. */
final class StringTable {
    private final Map<String, Integer> indexes = new LinkedHashMap<String, Integer>();

    StringTable() {
        index("");
    }

    int index(String text) {
        Integer known = indexes.get(text);
        if (known != null) {
            return known;
        }
        int index = indexes.size();
        indexes.put(text, index);
        return index;
    }

    void write(ProtobufWriter out) throws IOException {
        for (String text : indexes.keySet()) {
            out.text(Pprof.STRING_TABLE, text.getBytes(StandardCharsets.UTF_8));
        }
    }
}
