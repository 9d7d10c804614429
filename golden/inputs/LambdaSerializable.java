// javac 17 flags: -g
import java.io.Serializable;
import java.util.function.IntSupplier;

/** A serialisable lambda: a synthetic $deserializeLambda$ with a switch. */
public class LambdaSerializable {
    interface Both extends IntSupplier, Serializable {
    }

    static Both make(int n) {
        return n > 3 ? () -> n : () -> -n;
    }

    public static Object run() {
        return make(2).getAsInt() + "," + make(4).getAsInt();
    }
}
