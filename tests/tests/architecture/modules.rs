//! For each file of a crate, finds the other files whose names it uses.
//!
//! A name is followed to the file that defines it, through `use`, re-exports and globs. A re-export
//! (`pub use`) does not count as a use: a `mod.rs` that only declares its children and re-exports
//! their names uses nothing. Tests do not count. In macros, only arguments that are expressions or
//! paths are read. Uses of methods and fields are not found, since they have no path. Usually the
//! type of the method or field is also named and found.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Item, ItemUse, Macro, Token, UseTree, Visibility};

use crate::circles::Arrows;

/// Returns the arrows between the files of the crate whose root file is `root`.
pub(crate) fn arrows(root: &Path) -> Result<Arrows> {
    let mut krate = Crate::default();
    let folder = root.parent().context("a file has a folder")?;
    let items = parse(root)?;
    krate.add_module(None, root, folder, items)?;
    let mut arrows = Arrows::new();
    for (number, module) in krate.modules.iter().enumerate() {
        for mention in &module.mentions {
            for (file, name) in krate.items(number, mention) {
                if *file != module.file {
                    let uses = arrows.entry(module.file.clone()).or_default();
                    uses.entry(file.clone()).or_default().insert(name);
                }
            }
        }
    }
    Ok(arrows)
}

fn parse(path: &Path) -> Result<Vec<Item>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let file = syn::parse_file(&text).with_context(|| path.display().to_string())?;
    Ok(file.items)
}

/// The modules of a crate; the first is the root.
#[derive(Default)]
struct Crate {
    modules: Vec<Module>,
}

/// The number of a module in [`Crate::modules`].
type Number = usize;

#[derive(Default)]
struct Module {
    file: PathBuf,
    parent: Option<Number>,
    children: BTreeMap<String, Number>,
    /// The names that the module defines.
    items: BTreeSet<String>,
    /// The names that the module imports or re-exports, with their paths.
    imports: Vec<(String, Vec<String>)>,
    /// The paths of glob imports.
    globs: Vec<Vec<String>>,
    /// The paths that the module's code uses.
    mentions: BTreeSet<Vec<String>>,
}

/// The module or item to which a path leads.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Module(Number),
    /// An item of a module.
    Item(Number, String),
}

impl Crate {
    /// Adds a module with all modules below it. The files of its children are in `folder`.
    fn add_module(
        &mut self,
        parent: Option<Number>,
        file: &Path,
        folder: &Path,
        items: Vec<Item>,
    ) -> Result<Number> {
        let number = self.modules.len();
        self.modules.push(Module {
            file: file.to_path_buf(),
            parent,
            ..Module::default()
        });
        for item in items {
            if is_test(attributes(&item)) {
                continue;
            }
            let Item::Mod(module) = item else {
                let this = &mut self.modules[number];
                this.items.extend(defined_name(&item));
                Mentions { module: this }.visit_item(&item);
                continue;
            };
            let name = module.ident.to_string();
            let below = folder.join(&name);
            let child = match module.content {
                Some((_, items)) => self.add_module(Some(number), file, &below, items)?,
                None => {
                    let beside = folder.join(format!("{name}.rs"));
                    let within = below.join("mod.rs");
                    let file = [beside, within].into_iter().find(|path| path.is_file());
                    let file = file.with_context(|| format!("no file for the module {name}"))?;
                    let items = parse(&file)?;
                    self.add_module(Some(number), &file, &below, items)?
                }
            };
            self.modules[number].children.insert(name, child);
        }
        Ok(number)
    }

    /// Returns the files that define the items to which a path in a module leads, with the names of
    /// these items.
    fn items(&self, module: Number, path: &[String]) -> Vec<(&PathBuf, String)> {
        let targets = self.resolve(module, path, &mut BTreeSet::new());
        let items = targets.into_iter().filter_map(|target| match target {
            Target::Item(module, name) => Some((&self.modules[module].file, name)),
            Target::Module(_) => None,
        });
        items.collect()
    }

    /// Resolves a path that is used in a module. `seen` has the lookups in progress, since imports
    /// may be circular.
    fn resolve(
        &self,
        module: Number,
        path: &[String],
        seen: &mut BTreeSet<(Number, String)>,
    ) -> BTreeSet<Target> {
        let mut targets = BTreeSet::from([Target::Module(module)]);
        for segment in path {
            let mut next = BTreeSet::new();
            for target in targets {
                let Target::Module(module) = target else {
                    // The rest of the path names a variant or an associated item, which belongs to
                    // this item.
                    next.insert(target);
                    continue;
                };
                match segment.as_str() {
                    "crate" => next.extend([Target::Module(0)]),
                    "self" => next.extend([Target::Module(module)]),
                    "super" => next.extend(self.modules[module].parent.map(Target::Module)),
                    name => next.extend(self.look_up(module, name, seen)),
                }
            }
            targets = next;
        }
        targets
    }

    /// Returns all modules and items that a name can mean in a module.
    fn look_up(
        &self,
        number: Number,
        name: &str,
        seen: &mut BTreeSet<(Number, String)>,
    ) -> BTreeSet<Target> {
        let module = &self.modules[number];
        let mut targets = BTreeSet::new();
        if !seen.insert((number, name.to_owned())) {
            return targets;
        }
        if module.items.contains(name) {
            targets.insert(Target::Item(number, name.to_owned()));
        }
        if let Some(child) = module.children.get(name) {
            targets.insert(Target::Module(*child));
        }
        for (_, path) in module.imports.iter().filter(|(import, _)| import == name) {
            targets.extend(self.resolve(number, path, seen));
        }
        if targets.is_empty() {
            for path in &module.globs {
                for target in self.resolve(number, path, seen) {
                    if let Target::Module(other) = target {
                        targets.extend(self.look_up(other, name, seen));
                    }
                }
            }
        }
        seen.remove(&(number, name.to_owned()));
        targets
    }
}

/// Returns whether an item is compiled for tests only.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.meta.require_list();
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && condition.is_ok_and(|list| list.tokens.to_string() == "test")
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Returns the name that an item defines.
fn defined_name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// A collector of the imports of a module, and of the paths that its code mentions.
struct Mentions<'m> {
    module: &'m mut Module,
}

impl Mentions<'_> {
    fn import(&mut self, tree: &UseTree, path: &mut Vec<String>, re_exported: bool) {
        match tree {
            UseTree::Path(tree) => {
                path.push(tree.ident.to_string());
                self.import(&tree.tree, path, re_exported);
                path.pop();
            }
            UseTree::Name(tree) => self.name(tree.ident.to_string(), None, path, re_exported),
            UseTree::Rename(tree) => {
                let renamed = Some(tree.rename.to_string());
                self.name(tree.ident.to_string(), renamed, path, re_exported);
            }
            UseTree::Glob(_) => self.module.globs.push(path.clone()),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, path, re_exported);
                }
            }
        }
    }

    fn name(&mut self, name: String, renamed: Option<String>, path: &[String], re_exported: bool) {
        let mut path = path.to_vec();
        let mut imported = name.clone();
        if name == "self" {
            imported = path.last().cloned().unwrap_or_default();
        } else {
            path.push(name);
        }
        if !re_exported {
            self.module.mentions.insert(path.clone());
        }
        let imported = renamed.unwrap_or(imported);
        // A path whose first segment is the imported name itself, such as `use a::b` in a file
        // without `a`, leads to another crate or to a child module.
        if path.len() > 1 || path.first() != Some(&imported) {
            self.module.imports.push((imported, path));
        }
    }

    /// Reads the paths in a macro's arguments that are not expressions.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.end_of(&mut path);
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.end_of(&mut path);
                    self.tokens(group.stream());
                }
                _ => self.end_of(&mut path),
            }
        }
        self.end_of(&mut path);
    }

    /// Records a path of several segments and empties it. A single name is dropped, since it may be
    /// a variable.
    fn end_of(&mut self, path: &mut Vec<String>) {
        if path.len() > 1 {
            self.module.mentions.insert(path.clone());
        }
        path.clear();
    }
}

impl<'ast> Visit<'ast> for Mentions<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_test(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let re_exported = !matches!(item.vis, Visibility::Inherited);
        self.import(&item.tree, &mut Vec::new(), re_exported);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter();
        let segments = segments.map(|segment| segment.ident.to_string());
        self.module.mentions.insert(segments.collect());
        visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {
        // `pub(in path)` uses nothing.
    }

    fn visit_macro(&mut self, makro: &'ast Macro) {
        let expressions = Punctuated::<Expr, Token![,]>::parse_terminated;
        match expressions.parse2(makro.tokens.clone()) {
            Ok(expressions) => {
                for expression in &expressions {
                    self.visit_expr(expression);
                }
            }
            Err(_) => self.tokens(makro.tokens.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circles::circles;

    /// Writes `files` to a folder and describes the circles of that crate.
    fn circles_of(files: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("the file is in a folder"))
                .expect("the test folder can be created");
            fs::write(path, text).expect("the test file can be written");
        }
        let arrows = arrows(&folder.path().join("lib.rs")).expect("the source can be parsed");
        let circles = circles(&arrows);
        circles
            .iter()
            .map(|circle| circle.describe(folder.path()))
            .collect()
    }

    #[test]
    fn a_circle_is_found_through_re_exports_globs_and_macros() {
        let found = circles_of(&[
            ("lib.rs", "mod a; mod b; mod c; pub use b::deep::Deep;"),
            ("a.rs", "use crate::Deep; pub struct A(Deep);"),
            ("b/mod.rs", "pub mod deep; pub use deep::*;"),
            (
                "b/deep.rs",
                "use crate::c; pub struct Deep; fn f() { vec![c::c(); 3]; }",
            ),
            (
                "c.rs",
                "pub fn c() { println!(\"{}\", super::a::A::new()) }",
            ),
        ]);
        let expected = "  a.rs -> b/deep.rs: Deep\n  b/deep.rs -> c.rs: c\n  c.rs -> a.rs: A\n";
        assert_eq!(found, expected);
    }

    #[test]
    fn a_child_and_its_parent_are_a_circle_if_both_use_each_other() {
        let lib = ("lib.rs", "mod a;");
        let child = ("a/child.rs", "pub fn child() { super::parent() }");
        let parent = ("a/mod.rs", "mod child; pub fn parent() { child::child() }");
        let found = circles_of(&[lib, child, parent]);
        assert_eq!(
            found,
            "  a/child.rs -> a/mod.rs: parent\n  a/mod.rs -> a/child.rs: child\n"
        );

        let only_re_exports = (
            "a/mod.rs",
            "mod child; pub use child::child; pub fn parent() {}",
        );
        assert_eq!(circles_of(&[lib, child, only_re_exports]), "");
    }

    #[test]
    fn tests_and_other_crates_make_no_circle() {
        let found = circles_of(&[
            ("lib.rs", "mod a; mod b;"),
            (
                "a.rs",
                "use crate::b::B; use other::b; pub struct A; #[cfg(test)] mod tests;",
            ),
            (
                "b.rs",
                "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }",
            ),
        ]);
        assert_eq!(found, "");
    }
}
