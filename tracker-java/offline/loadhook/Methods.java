package loadhook;

import java.io.IOException;
import java.util.Arrays;

/** The methods that were called, in the order in which the trees first name them. */
final class Methods extends ColumnMessage {
    private final StringTable strings;
    private Method[] methods = new Method[64];
    private int count;
    /**
     * The indexes of methods by their ids. Element {@code id + 1} has the index + 1, or 0 if the method was not
     * called. The id of the overflow node is -1.
     */
    private int[] indexes = new int[64];

    Methods(StringTable strings) {
        this.strings = strings;
    }

    /** Returns the index of the method with this id. A method without an index gets the next one. */
    int index(int id) {
        int at = id + 1;
        if (at >= indexes.length) {
            HeapCheck.require(8L * at);
            indexes = Arrays.copyOf(indexes, Math.max(at + 1, at + at / 2));
        }
        if (indexes[at] == 0) {
            if (count == methods.length) {
                methods = Arrays.copyOf(methods, 2 * count);
            }
            methods[count++] = id < 0 ? Method.overflow() : Method.unknown(id);
            indexes[at] = count;
        }
        return indexes[at] - 1;
    }

    boolean has(int id) {
        return id + 1 < indexes.length && indexes[id + 1] != 0;
    }

    /** Sets the name of a method that was called. */
    void name(int id, Method method) {
        methods[indexes[id + 1] - 1] = method;
    }

    /** Writes functions, locations and Loadhook's own columns. Ids in the file are indexes + 1. */
    void write(ProtobufWriter out) throws IOException {
        ProtobufWriter message = new ProtobufWriter();
        ProtobufWriter line = new ProtobufWriter();
        String[] names = DisplayNames.of(methods, count);
        for (int at = 0; at < count; at++) {
            Method method = methods[at];
            int id = at + 1;
            message.number(1, id);
            message.number(2, strings.index(names[at]));
            message.number(3, strings.index(method.className + "." + method.name + method.descriptor));
            message.number(4, strings.index(method.file == null ? "" : method.file));
            message.number(5, Math.max(method.line, 0));
            out.message(Pprof.FUNCTION, message);
            line.number(1, id);
            line.number(2, Math.max(method.line, 0));
            message.number(1, id);
            message.number(2, Pprof.ONLY_MAPPING);
            message.message(4, line);
            out.message(Pprof.LOCATION, message);
        }
        write(out, Pprof.OUR_METHODS, message, 1, haveCopies() ? 7 : 6);
    }

    private boolean haveCopies() {
        for (int at = 0; at < count; at++) {
            if (methods[at].loaders != 1) {
                return true;
            }
        }
        return false;
    }

    @Override
    int rows() {
        return count;
    }

    @Override
    long value(int field, int row) {
        Method method = methods[row];
        switch (field) {
            case 1:
                return strings.index(method.loader);
            case 2:
                return strings.index(method.className);
            case 3:
                return strings.index(method.name);
            case 4:
                return strings.index(method.descriptor);
            case 5:
                return method.file == null ? 0 : strings.index(method.file) + 1;
            case 6:
                return method.line + 1;
            default:
                return method.loaders;
        }
    }
}
