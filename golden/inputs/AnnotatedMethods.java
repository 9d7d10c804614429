// javac 17 flags: -g
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Annotated methods and parameters, visible, invisible and source only, with elements of all kinds. */
public class AnnotatedMethods {
    @Retention(RetentionPolicy.RUNTIME)
    @interface Visible {
        int number() default 1;

        String[] texts() default {};

        Class<?> type() default Object.class;

        Thread.State state() default Thread.State.NEW;
    }

    @interface Invisible {
        long value();
    }

    @Visible(number = 5, texts = {"a", "b"}, type = int[].class, state = Thread.State.RUNNABLE)
    static int visible(@Visible int n) {
        return n;
    }

    @Invisible(9)
    static int invisible(@Invisible(1) int n) {
        return n;
    }

    @Visible
    @Invisible(2)
    @Deprecated
    static int both(int n) {
        return n;
    }

    @SuppressWarnings("unused")
    static int plain(int n) {
        return n;
    }

    public static Object run() {
        return visible(1) + invisible(2) + both(3) + plain(4);
    }
}
