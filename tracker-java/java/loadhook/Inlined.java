package loadhook;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks probes that the JIT must inline whatever their size, because a call would cost more than their code. The
 * agent replaces this annotation by the JVM's own {@code ForceInline}, which works only in classes of the boot
 * loader. Nothing needs this class at run time, so build.rs leaves it out.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@interface Inlined {
}
