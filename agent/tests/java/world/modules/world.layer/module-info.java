module world.layer {
    requires world.lib;
    exports layer;
}
