package loadhook;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks methods that the JIT must not inline, because programs run faster if their own code stays small. The
 * agent replaces this annotation by the JVM's {@code DontInline}, which works only in classes of the boot loader.
 * Nothing needs this class at run time, so build.rs leaves it out.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@interface OutOfLine {
}
