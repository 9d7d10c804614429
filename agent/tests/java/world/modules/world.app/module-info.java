module world.app {
    requires world.lib;
}
