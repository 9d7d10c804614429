// javac 17 flags: -g
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Generic locals: LocalVariableTypeTable; a bridge method. */
public class GenericLocals<T extends Comparable<T>> implements Comparable<GenericLocals<T>> {
    private final T value;

    GenericLocals(T value) {
        this.value = value;
    }

    @Override
    public int compareTo(GenericLocals<T> other) {
        T mine = value;
        return mine.compareTo(other.value);
    }

    static <K, V extends List<? super K>> int test(K key, V values) {
        Map<K, V> map = new HashMap<>();
        for (int i = 0; i < 2; i++) {
            List<? super K> list = values;
            list.add(key);
            map.put(key, values);
        }
        Map<String, int[]>[] none = null;
        return map.size() + values.size() + (none == null ? 0 : 1);
    }

    public static Object run() {
        return test("k", new ArrayList<Object>()) + "," + new GenericLocals<>(1).compareTo(new GenericLocals<>(2));
    }
}
