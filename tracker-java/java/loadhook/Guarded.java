package loadhook;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The thread is marked while it runs this, so that probes which it meets there do nothing: the JDK's methods that are
 * called from here may be instrumented. For the tests; build.rs leaves this class out.
 */
@Retention(RetentionPolicy.CLASS)
@Target(ElementType.METHOD)
@interface Guarded {
}
