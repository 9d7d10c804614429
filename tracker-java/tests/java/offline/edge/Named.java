package edge;

/**
 * A class in a package, as most classes of programs are. To define the first class of a package, the JVM needs further
 * classes; they count as part of what a probe needs.
 */
public class Named {
}
