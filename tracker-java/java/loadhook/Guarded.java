package loadhook;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method that a thread runs only while it is marked itself, so that probes do nothing. The JDK's methods that such a
 * method calls may be instrumented. Only tests read the annotation; build.rs leaves this class out.
 */
@Retention(RetentionPolicy.CLASS)
@Target(ElementType.METHOD)
@interface Guarded {
}
