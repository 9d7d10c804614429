package app;

import java.lang.module.Configuration;
import java.lang.module.ModuleFinder;
import java.nio.file.Paths;
import java.util.Set;
import lib.Library;

/** A class in a named module. It loads a second module into a new layer. */
public final class Main {
    static void use() {
        for (int i = 0; i < 10; i++) {
            Library.call();
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println(Main.class.getModule() + " " + Library.class.getModule());
        use();
        ModuleLayer boot = ModuleLayer.boot();
        for (int i = 0; i < 2; i++) {
            Configuration configuration = boot.configuration()
                    .resolve(ModuleFinder.of(Paths.get(args[0])), ModuleFinder.of(), Set.of("world.layer"));
            ModuleLayer layer = boot.defineModulesWithOneLoader(configuration, ClassLoader.getSystemClassLoader());
            Class<?> entry = layer.findLoader("world.layer").loadClass("layer.Entry");
            System.out.println(entry.getModule() + " " + (entry.getModule().getLayer() == layer));
            ((Runnable) entry.getConstructor().newInstance()).run();
        }
    }
}
