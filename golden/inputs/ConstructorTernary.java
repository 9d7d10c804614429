// javac 17 flags: -g:none
/** Conditions in the arguments of super: UninitializedThis on the stack across frames. */
public class ConstructorTernary extends RuntimeException {
    ConstructorTernary(Object o, int n) {
        super(o == null ? "none" : n > 1 ? new StringBuilder(n > 2 ? "many" : "two").toString() : "one",
            o instanceof Throwable ? (Throwable) o : null);
    }

    public static Object run() {
        return new ConstructorTernary(null, 0).getMessage()
            + new ConstructorTernary("x", 1).getMessage()
            + new ConstructorTernary("x", 2).getMessage()
            + new ConstructorTernary(new Error(), 3).getCause();
    }
}
