//! Reads the bindings of the libraries that a JVM loads. For each type of a function pointer, finds the function of the JVM's
//! tables that is called through it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use syn::visit::{self, Visit};
use syn::{
    Block, Expr, ExprMethodCall, ExprPath, FnArg, GenericArgument, Item, Local, Pat, ReturnType,
    Stmt, Type, TypeBareFn,
};

/// The signature of a function as the agent declares it: a function of the JVM, or one that the JVM
/// calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    /// The file and function of the agent in which it is declared.
    pub(crate) place: String,
    /// The parameters, each with all C types that its Rust type can stand for.
    pub(crate) parameters: Vec<Vec<String>>,
    /// All C types that the Rust return type can stand for.
    pub(crate) result: Vec<String>,
    /// True if the function takes any number of further arguments.
    pub(crate) variadic: bool,
}

/// All declarations in the sources of the bindings.
#[derive(Debug, Default)]
pub(crate) struct Bindings {
    /// The signatures by which each function of a table is called; the key is the constant of its slot, such as
    /// `jni::FIND_CLASS`.
    pub(crate) calls: BTreeMap<String, Vec<Signature>>,
    /// The signatures of the functions with C linkage, by name. Event callbacks and entry points
    /// are among them.
    pub(crate) functions: BTreeMap<String, Vec<Signature>>,
    /// The names of the constants for all slots.
    pub(crate) slots: BTreeSet<String>,
}

/// The modules whose constants number the slots of the JVM's tables.
const TABLES: [&str; 3] = ["invoke", "jni", "jvmti"];

impl Bindings {
    /// Adds the declarations of a source file.
    pub(crate) fn add(&mut self, name: &str, source: &str) -> Result<()> {
        let file = syn::parse_file(source).with_context(|| format!("{name} does not parse"))?;
        let mut reader = FileReader {
            file: name,
            types: Aliases::default(),
            bindings: self,
            error: None,
        };
        reader.types.add(&file.items);
        for item in &file.items {
            if let Item::Mod(module) = item
                && let Some((_, items)) = &module.content
                && TABLES.contains(&module.ident.to_string().as_str())
            {
                for item in items {
                    if let Item::Const(constant) = item
                        && constant.ident != "COUNT"
                    {
                        let slot = format!("{}::{}", module.ident, constant.ident);
                        reader.bindings.slots.insert(slot);
                    }
                }
            }
        }
        reader.visit_file(&file);
        match reader.error {
            Some(error) => Err(error.context(name.to_owned())),
            None => Ok(()),
        }
    }
}

/// The named types that are visible in a file or in a function.
#[derive(Clone, Default)]
struct Aliases(BTreeMap<String, Type>);

impl Aliases {
    fn add<'i>(&mut self, items: impl IntoIterator<Item = &'i Item>) {
        for item in items {
            if let Item::Type(alias) = item {
                self.0.insert(alias.ident.to_string(), (*alias.ty).clone());
            }
        }
    }

    fn function_pointer(&self, name: &str) -> Option<&TypeBareFn> {
        match self.0.get(name)? {
            Type::BareFn(function) => Some(function),
            _ => None,
        }
    }

    /// Returns all C types that a Rust type of the bindings stands for.
    ///
    /// The agent has one type where the headers have several: `c_int` for all enums, and untyped
    /// pointers for the environments that it passes on.
    fn c_types(&self, ty: &Type) -> Result<Vec<String>> {
        match ty {
            Type::Ptr(pointer) => {
                let pointees = match environments(&pointer.elem) {
                    Some(pointees) => strings(pointees),
                    None => self.c_types(&pointer.elem)?,
                };
                let qualifier = if pointer.const_token.is_some() {
                    "const"
                } else {
                    ""
                };
                Ok(pointees
                    .iter()
                    .map(|pointee| format!("{pointee} {qualifier} *"))
                    .collect())
            }
            Type::BareFn(function) => {
                let signature = self.signature("", function)?;
                Ok(signature.c_types("*"))
            }
            Type::Path(path) => {
                let name = path
                    .path
                    .segments
                    .last()
                    .context("the path of the type is empty")?;
                let name = name.ident.to_string();
                match (primitive(&name), self.0.get(&name)) {
                    (Some(types), _) => Ok(strings(types)),
                    (None, Some(alias)) => self.c_types(alias),
                    (None, None) => bail!("no C type is known for {name}"),
                }
            }
            _ => bail!("no function of the JVM takes or returns a type of this kind"),
        }
    }

    fn result(&self, output: &ReturnType) -> Result<Vec<String>> {
        match output {
            ReturnType::Default => Ok(strings(&["void"])),
            ReturnType::Type(_, ty) => self.c_types(ty),
        }
    }

    fn signature(&self, place: &str, function: &TypeBareFn) -> Result<Signature> {
        let parameters = function.inputs.iter();
        Ok(Signature {
            place: place.to_owned(),
            parameters: parameters
                .map(|parameter| self.c_types(&parameter.ty))
                .collect::<Result<_>>()?,
            result: self.result(&function.output)?,
            variadic: function.variadic.is_some(),
        })
    }
}

impl Signature {
    /// Returns every C type that this signature can stand for. `declarator` is inserted after the
    /// return type: `*` for a pointer to the function.
    pub(crate) fn c_types(&self, declarator: &str) -> Vec<String> {
        let mut lists = vec![String::new()];
        for types in &self.parameters {
            let longer = |list: &String| {
                let comma = if list.is_empty() { "" } else { ", " };
                let list = list.clone();
                types.iter().map(move |ty| format!("{list}{comma}{ty}"))
            };
            lists = lists.iter().flat_map(longer).collect();
        }
        let end = if self.variadic { ", ..." } else { "" };
        let of_result = |result: &String| {
            lists
                .iter()
                .map(|list| format!("{result} ({declarator}) ({list}{end})"))
                .collect::<Vec<_>>()
        };
        self.result.iter().flat_map(of_result).collect()
    }
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Returns the C types that may be the target of one of the agent's pointers to an untyped table or to `c_void`.
fn environments(pointee: &Type) -> Option<&'static [&'static str]> {
    let Type::Path(path) = pointee else {
        return None;
    };
    match path.path.segments.last()?.ident.to_string().as_str() {
        "c_void" => Some(&["void", "JNIEnv", "jvmtiEnv", "JavaVM"]),
        "Table" => Some(&["JNIEnv", "jvmtiEnv", "JavaVM"]),
        _ => None,
    }
}

fn primitive(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        // `Env` is a pointer to a table; its meaning depends on the file.
        "Env" => &["JNIEnv *", "jvmtiEnv *"],
        "Int" | "i32" => &["jint"],
        "Long" | "i64" => &["jlong"],
        "Boolean" => &["jboolean"],
        "Object" => &["jobject"],
        "MethodId" => &["jmethodID"],
        "FieldId" => &["jfieldID"],
        "JvmtiError" => &["jvmtiError"],
        "c_char" => &["char"],
        "c_uchar" | "u8" => &["unsigned char", "jbyte"],
        "c_int" => &[
            "jint",
            "jvmtiEvent",
            "jvmtiEventMode",
            "jvmtiHeapReferenceKind",
            "jvmtiPrimitiveType",
        ],
        "AddrLocationMap" => &["jvmtiAddrLocationMap"],
        "Capabilities" => &["jvmtiCapabilities"],
        "Callbacks" => &["jvmtiEventCallbacks"],
        "ExtensionEvent" => &["jvmtiExtensionEvent"],
        "ExtensionEventInfo" => &["jvmtiExtensionEventInfo"],
        "FrameInfo" => &["jvmtiFrameInfo"],
        "ThreadInfo" => &["jvmtiThreadInfo"],
        "ThreadGroupInfo" => &["jvmtiThreadGroupInfo"],
        "JniTable" => &["jniNativeInterface"],
        "StackInfo" => &["jvmtiStackInfo"],
        "MonitorUsage" => &["jvmtiMonitorUsage"],
        "LineNumberEntry" => &["jvmtiLineNumberEntry"],
        "HeapCallbacks" => &["jvmtiHeapCallbacks"],
        "ReferenceInfo" => &["jvmtiHeapReferenceInfo"],
        "NativeMethod" => &["JNINativeMethod"],
        "Value" => &["jvalue"],
        "siginfo_t" => &["siginfo_t"],
        _ => return None,
    })
}

struct FileReader<'b> {
    file: &'b str,
    types: Aliases,
    bindings: &'b mut Bindings,
    error: Option<anyhow::Error>,
}

impl FileReader<'_> {
    fn function(&mut self, signature: &syn::Signature, block: &Block) -> Result<()> {
        let name = signature.ident.to_string();
        let place = format!("{} in {}", name, self.file);
        let mut types = self.types.clone();
        types.add(block.stmts.iter().filter_map(|stmt| match stmt {
            Stmt::Item(item) => Some(item),
            _ => None,
        }));
        if signature.abi.is_some() {
            let parameters = signature.inputs.iter().filter_map(|input| match input {
                FnArg::Typed(parameter) => Some(types.c_types(&parameter.ty)),
                FnArg::Receiver(_) => None,
            });
            let function = Signature {
                place: place.clone(),
                parameters: parameters.collect::<Result<_>>()?,
                result: types.result(&signature.output)?,
                variadic: signature.variadic.is_some(),
            };
            let same_name = self.bindings.functions.entry(name).or_default();
            same_name.push(function);
        }
        let mut calls = CallReader::default();
        calls.visit_block(block);
        for (alias, slots) in calls.casts {
            let Some(function) = types.function_pointer(&alias) else {
                continue;
            };
            let called = types.signature(&place, function)?;
            for slot in slots {
                self.bindings
                    .calls
                    .entry(slot)
                    .or_default()
                    .push(called.clone());
            }
        }
        Ok(())
    }
}

impl<'ast> Visit<'ast> for FileReader<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if let Err(error) = self.function(&item.sig, &item.block) {
            self.error
                .get_or_insert(error.context(item.sig.ident.to_string()));
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if let Err(error) = self.function(&item.sig, &item.block) {
            self.error
                .get_or_insert(error.context(item.sig.ident.to_string()));
        }
    }
}

/// Finds, for each named type in a function, the slots that are cast to it. Three forms are
/// recognised: `self.function::<F>(jni::FIND_CLASS)`, the same through a variable, and `let
/// get_env: GetEnv = … invoke::GET_ENV …`.
#[derive(Default)]
struct CallReader {
    casts: Vec<(String, Vec<String>)>,
    variables: BTreeMap<String, Vec<String>>,
}

impl<'ast> Visit<'ast> for CallReader {
    fn visit_local(&mut self, local: &'ast Local) {
        if let Some(init) = &local.init {
            let mut slots = SlotReader::default();
            slots.visit_expr(&init.expr);
            match &local.pat {
                Pat::Ident(pattern) => {
                    self.variables.insert(pattern.ident.to_string(), slots.0);
                }
                Pat::Type(pattern) => {
                    if let Some(name) = last_segment(&pattern.ty) {
                        self.casts.push((name, slots.0));
                    }
                }
                _ => {}
            }
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        visit::visit_expr_method_call(self, call);
        let generics = call.turbofish.iter().flat_map(|generics| &generics.args);
        let name = generics.into_iter().find_map(|argument| match argument {
            GenericArgument::Type(ty) => last_segment(ty),
            _ => None,
        });
        let (Some(name), Some(argument)) = (name, call.args.first()) else {
            return;
        };
        let mut slots = SlotReader::default();
        slots.visit_expr(argument);
        if let Expr::Path(path) = argument
            && let Some(variable) = path.path.get_ident()
            && let Some(found) = self.variables.get(&variable.to_string())
        {
            slots.0.extend(found.iter().cloned());
        }
        self.casts.push((name, slots.0));
    }
}

/// Collects the slots whose constants occur in an expression.
#[derive(Default)]
struct SlotReader(Vec<String>);

impl<'ast> Visit<'ast> for SlotReader {
    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        let segments: Vec<String> = path
            .path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        if let [.., table, slot] = &segments[..]
            && TABLES.contains(&table.as_str())
            && slot
                .chars()
                .all(|char| char.is_ascii_uppercase() || char == '_')
        {
            self.0.push(format!("{table}::{slot}"));
        }
    }
}

fn last_segment(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => Some(path.path.segments.last()?.ident.to_string()),
        _ => None,
    }
}
