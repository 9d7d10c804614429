import java.io.InputStream;

/** Defines a class of its own from the bytes of {@code Judged$Loaded}. */
final class JudgedLoader extends ClassLoader {
    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.equals("Judged$Loaded")) {
            return super.loadClass(name, resolve);
        }
        try (InputStream stream = Judged.class.getResourceAsStream("Judged$Loaded.class")) {
            byte[] bytes = stream.readAllBytes();
            return defineClass(name, bytes, 0, bytes.length);
        } catch (java.io.IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }
}
