package loadhook;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The probes that the JIT shall call, not copy: real programs run faster where their own code stays small. build.rs leaves
 * this class out, and the agent puts the JVM's own annotation in its place, which counts in the boot loader only.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@interface OutOfLine {
}
