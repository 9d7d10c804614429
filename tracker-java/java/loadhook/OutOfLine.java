package loadhook;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks probes that the JIT must call and not inline: real programs run faster if their own code stays small. build.rs leaves
 * this class out. The agent puts the JVM's own annotation in its place, which works in the boot loader only.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@interface OutOfLine {
}
