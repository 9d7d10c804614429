package edge;

/**
 * A class in a package, as in most programs. The classes that load the first class of a package are
 * part of what a probe needs.
 */
public class Named {
}
