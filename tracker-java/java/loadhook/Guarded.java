package loadhook;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method that a thread runs only while its probes are switched off. Such a method may call methods of the
 * JDK that are instrumented. Only tests read the annotation; build.rs leaves this class out.
 */
@Retention(RetentionPolicy.CLASS)
@Target(ElementType.METHOD)
@interface Guarded {
}
