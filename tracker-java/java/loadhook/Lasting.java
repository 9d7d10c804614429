package loadhook;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks fields that are set once, so that the JIT may take their value for a constant. If the field's type is an array,
 * the JIT takes the elements for constants, too. The agent replaces this annotation by the JVM's own {@code Stable},
 * which works only in classes of the boot loader. Nothing needs this class at run time, so build.rs leaves it out.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.FIELD)
@interface Lasting {
}
