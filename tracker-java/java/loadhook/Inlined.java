package loadhook;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks probes that the JIT must inline whatever their size: a call would cost more than what they do. build.rs leaves this
 * class out. The agent puts the JVM's own annotation in its place, which works in the boot loader only.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@interface Inlined {
}
