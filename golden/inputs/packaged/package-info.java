// javac 17 flags: -g -Xpkginfo:always
/** A package's class file: a synthetic interface without methods. */
@Deprecated
package packaged;
