package edge;

/** Most programs have packages, and what loads the first class of one is part of what a probe needs. */
public class Named {
}
