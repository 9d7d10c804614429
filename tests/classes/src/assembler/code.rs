//! The `Code` attribute (JVMS §4.7.3): bytes, labels, handlers, attributes.

use super::bytes::Put;
use super::error::{AssembleError, Result, u2};
use super::frames::{self, Frame};
use super::label::{Label, Resolve};
use super::tables::{self, CodeAttribute, LocalEntry};
use super::{
    ConstantPool, FrameForm, FrameTable, LocalTable, TypeAnnotation, VerificationTypeInfo,
};

/// A branch offset to be filled in when its label is known.
#[derive(Debug, Clone)]
struct Fixup {
    /// Position of the branch offset.
    at: usize,
    /// Position of the opcode, from which the offset counts.
    from: usize,
    to: Label,
    wide: bool,
}

/// One row of the exception table (JVMS §4.7.3).
#[derive(Debug, Clone)]
struct Handler {
    start: Label,
    end: Label,
    handler: Label,
    catch_type: u16,
}

/// The code of one method under construction.
///
/// Each instruction is written immediately and never widened, so [`CodeBuilder::pc`] is always
/// known. Only branch offsets are filled in later, when their labels are bound. The first error is
/// reported when the class is finished.
#[derive(Debug)]
pub struct CodeBuilder<'p> {
    pub(crate) pool: &'p mut ConstantPool,
    this_class: &'p str,
    pub(crate) bytes: Vec<u8>,
    max_stack: u16,
    max_locals: u16,
    labels: Vec<Option<usize>>,
    fixups: Vec<Fixup>,
    handlers: Vec<Handler>,
    attributes: Vec<CodeAttribute>,
    frame_table: FrameTable,
    frames: Vec<Frame>,
    initial_locals: Vec<VerificationTypeInfo>,
    error: Option<AssembleError>,
}

impl<'p> CodeBuilder<'p> {
    pub(crate) fn new(
        pool: &'p mut ConstantPool,
        this_class: &'p str,
        frame_table: FrameTable,
        initial_locals: Vec<VerificationTypeInfo>,
    ) -> Self {
        let max_locals = frames::slots(&initial_locals) as u16;
        Self {
            pool,
            this_class,
            bytes: Vec::new(),
            max_stack: 0,
            max_locals,
            labels: Vec::new(),
            fixups: Vec::new(),
            handlers: Vec::new(),
            attributes: Vec::new(),
            frame_table,
            frames: Vec::new(),
            initial_locals,
            error: None,
        }
    }

    /// Returns the internal name of the method's class.
    pub fn this_class(&self) -> String {
        self.this_class.to_owned()
    }

    /// Returns the class's constant pool.
    pub fn pool(&mut self) -> &mut ConstantPool {
        self.pool
    }

    /// Returns the offset of the next instruction.
    pub fn pc(&self) -> usize {
        self.bytes.len()
    }

    /// Sets `max_stack` and `max_locals`. If the arguments need more locals, `max_locals` is
    /// larger.
    pub fn limits(&mut self, max_stack: u16, max_locals: u16) -> &mut Self {
        self.max_stack = max_stack;
        self.max_locals = self.max_locals.max(max_locals);
        self
    }

    /// Records the first error. Later errors are consequences of it.
    pub(crate) fn fail(&mut self, error: AssembleError) {
        self.error.get_or_insert(error);
    }

    // ---- labels and branches -------------------------------------------

    /// Makes a label that is bound later.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Binds `label` to the next instruction.
    pub fn bind(&mut self, label: Label) -> &mut Self {
        let pc = self.pc();
        if self.labels[label.0].replace(pc).is_some() {
            self.fail(AssembleError::LabelBoundTwice(label.0));
        }
        self
    }

    /// Makes a label at the next instruction.
    pub fn here(&mut self) -> Label {
        let label = self.label();
        self.bind(label);
        label
    }

    /// Appends a branch with a 16-bit offset: any `if`, `goto`, `jsr`.
    pub fn branch(&mut self, opcode: u8, to: Label) -> &mut Self {
        let from = self.pc();
        self.bytes.u1(opcode);
        self.offset(from, to, false)
    }

    /// Appends a branch with a 32-bit offset: `goto_w`, `jsr_w`.
    pub fn branch_wide(&mut self, opcode: u8, to: Label) -> &mut Self {
        let from = self.pc();
        self.bytes.u1(opcode);
        self.offset(from, to, true)
    }

    /// Reserves space for a branch offset, which counts from the opcode at `from` to the label
    /// `to`.
    fn offset(&mut self, from: usize, to: Label, wide: bool) -> &mut Self {
        let at = self.pc();
        self.fixups.push(Fixup { at, from, to, wide });
        self.bytes
            .extend_from_slice(if wide { &[0; 4] } else { &[0; 2] });
        self
    }

    /// Appends a `tableswitch` over `low`, `low + 1`, … with its zero padding (JVMS
    /// §6.5.tableswitch).
    pub fn tableswitch(&mut self, default: Label, low: i32, targets: &[Label]) -> &mut Self {
        let from = self.switch_header(super::op::TABLESWITCH, default);
        // An empty table needs `high` = `low - 1`, which is illegal. It is written nevertheless,
        // wrapped if `low` is the least number.
        let high = low.wrapping_add(targets.len() as i32).wrapping_sub(1);
        self.bytes.u4(low.cast_unsigned());
        self.bytes.u4(high.cast_unsigned());
        for &target in targets {
            self.offset(from, target, true);
        }
        self
    }

    /// Appends a `lookupswitch`; the pairs are written in the order given, which must ascend for a
    /// JVM to accept it.
    pub fn lookupswitch(&mut self, default: Label, pairs: &[(i32, Label)]) -> &mut Self {
        let from = self.switch_header(super::op::LOOKUPSWITCH, default);
        self.bytes.u4(pairs.len() as u32);
        for &(key, target) in pairs {
            self.bytes.u4(key.cast_unsigned());
            self.offset(from, target, true);
        }
        self
    }

    fn switch_header(&mut self, opcode: u8, default: Label) -> usize {
        let from = self.pc();
        self.bytes.u1(opcode);
        while !self.pc().is_multiple_of(4) {
            self.bytes.u1(0);
        }
        self.offset(from, default, true);
        from
    }

    // ---- tables --------------------------------------------------------

    /// Adds a row of the exception table; `None` catches everything.
    pub fn handler(
        &mut self,
        start: Label,
        end: Label,
        handler: Label,
        catch_type: Option<&str>,
    ) -> &mut Self {
        let catch_type = catch_type.map_or(0, |name| self.pool.class(name));
        self.handlers.push(Handler {
            start,
            end,
            handler,
            catch_type,
        });
        self
    }

    /// Sets the attribute for the frames of this method.
    pub fn frame_table(&mut self, table: FrameTable) -> &mut Self {
        self.frame_table = table;
        self
    }

    /// Adds a frame at the next instruction, in the shortest form.
    pub fn frame(
        &mut self,
        locals: &[VerificationTypeInfo],
        stack: &[VerificationTypeInfo],
    ) -> &mut Self {
        self.frame_as(FrameForm::Auto, locals, stack)
    }

    /// Adds a frame at the next instruction in a given form.
    pub fn frame_as(
        &mut self,
        form: FrameForm,
        locals: &[VerificationTypeInfo],
        stack: &[VerificationTypeInfo],
    ) -> &mut Self {
        if self.frame_table == FrameTable::None {
            return self;
        }
        let at = self.here();
        if self.frames.is_empty() {
            self.attributes.push(CodeAttribute::Frames);
        }
        let (locals, stack) = (locals.to_vec(), stack.to_vec());
        self.frames.push(Frame {
            at,
            locals,
            stack,
            form,
        });
        self
    }

    /// Returns the locals of the implicit first frame, which precedes all frames in the list.
    pub fn initial_locals(&self) -> Vec<VerificationTypeInfo> {
        self.initial_locals.clone()
    }

    /// Adds a row for the next instruction to the last `LineNumberTable`.
    pub fn line(&mut self, line: u16) -> &mut Self {
        let here = self.here();
        let newest = self
            .attributes
            .iter_mut()
            .rev()
            .find_map(|attribute| match attribute {
                CodeAttribute::Lines(rows) => Some(rows),
                _ => None,
            });
        match newest {
            Some(rows) => rows.push((here, line)),
            None => self
                .attributes
                .push(CodeAttribute::Lines(vec![(here, line)])),
        }
        self
    }

    /// Adds another `LineNumberTable`, with these rows in this order.
    pub fn line_table(&mut self, rows: &[(Label, u16)]) -> &mut Self {
        self.attributes.push(CodeAttribute::Lines(rows.to_vec()));
        self
    }

    /// Adds a row of `LocalVariableTable` or `LocalVariableTypeTable` for the local variable
    /// `index` from `start` up to `end`.
    pub fn local_variable(
        &mut self,
        table: LocalTable,
        (start, end): (Label, Label),
        name: &str,
        descriptor: &str,
        index: u16,
    ) -> &mut Self {
        let name = self.pool.utf8(name);
        let descriptor = self.pool.utf8(descriptor);
        let row = LocalEntry {
            start,
            end,
            name,
            descriptor,
            index,
        };
        let found = self
            .attributes
            .iter_mut()
            .find_map(|attribute| match attribute {
                CodeAttribute::Locals(kind, rows) if *kind == table => Some(rows),
                _ => None,
            });
        match found {
            Some(rows) => rows.push(row),
            None => self
                .attributes
                .push(CodeAttribute::Locals(table, vec![row])),
        }
        self
    }

    /// Adds `RuntimeVisibleTypeAnnotations` or `RuntimeInvisibleTypeAnnotations`.
    pub fn type_annotations(
        &mut self,
        visible: bool,
        annotations: Vec<TypeAnnotation>,
    ) -> &mut Self {
        self.attributes.push(CodeAttribute::TypeAnnotations {
            visible,
            annotations,
        });
        self
    }

    /// Adds any attribute, as bytes.
    pub fn attribute(&mut self, name: &str, contents: &[u8]) -> &mut Self {
        self.attributes
            .push(CodeAttribute::Raw(name.to_owned(), contents.to_vec()));
        self
    }

    // ---- the end -------------------------------------------------------

    /// Returns the contents of the `Code` attribute.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let length = self.bytes.len();
        if length == 0 || length > 65_535 {
            return Err(AssembleError::CodeLength(length));
        }
        let labels = std::mem::take(&mut self.labels);
        let resolve = |label: Label| labels[label.0].ok_or(AssembleError::UnboundLabel(label.0));
        for fixup in &self.fixups {
            patch(&mut self.bytes, fixup, resolve(fixup.to)?)?;
        }

        let mut out = Vec::with_capacity(length + 64);
        out.u2(self.max_stack);
        out.u2(self.max_locals);
        out.u4(length as u32);
        out.extend_from_slice(&self.bytes);
        out.u2(u2("exception_table_length", self.handlers.len())?);
        for row in &self.handlers {
            out.u2(u2("start_pc", resolve(row.start)?)?);
            out.u2(u2("end_pc", resolve(row.end)?)?);
            out.u2(u2("handler_pc", resolve(row.handler)?)?);
            out.u2(row.catch_type);
        }
        let attributes = std::mem::take(&mut self.attributes);
        out.u2(u2("attributes_count", attributes.len())?);
        for attribute in &attributes {
            let (name, contents) = match attribute {
                CodeAttribute::Frames => self.write_frames(&resolve)?,
                other => tables::contents(other, self.pool, &resolve)?,
            };
            out.u2(self.pool.utf8(&name));
            out.u4(contents.len() as u32);
            out.extend_from_slice(&contents);
        }
        Ok(out)
    }

    fn write_frames(&mut self, resolve: &Resolve<'_>) -> Result<(String, Vec<u8>)> {
        Ok(match self.frame_table {
            FrameTable::CldcStackMap => {
                let contents = frames::cldc_stack_map(&self.frames, self.pool, resolve)?;
                ("StackMap".to_owned(), contents)
            }
            FrameTable::StackMapTable | FrameTable::None => {
                let initial = &self.initial_locals;
                let contents = frames::stack_map_table(&self.frames, initial, self.pool, resolve)?;
                ("StackMapTable".to_owned(), contents)
            }
        })
    }
}

/// Writes the offset of a branch to `to` into the code.
fn patch(bytes: &mut [u8], fixup: &Fixup, to: usize) -> Result<()> {
    // Code is at most 65,535 bytes long, so both numbers fit.
    let offset = to as i32 - fixup.from as i32;
    if fixup.wide {
        bytes[fixup.at..fixup.at + 4].copy_from_slice(&offset.to_be_bytes());
        return Ok(());
    }
    let offset = i16::try_from(offset).map_err(|_| AssembleError::BranchOutOfRange {
        from: fixup.from,
        to,
    })?;
    bytes[fixup.at..fixup.at + 2].copy_from_slice(&offset.to_be_bytes());
    Ok(())
}
