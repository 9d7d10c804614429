module world.lib {
    exports lib;
}
