//! `LineNumberTable`, `LocalVariableTable` and `LocalVariableTypeTable` (JVMS §4.7.12–§4.7.14) in
//! forms that javac does not write.

use loadhook_testclasses::assembler::VerificationTypeInfo as V;
use loadhook_testclasses::assembler::{CodeBuilder, LocalTable, op};
use loadhook_testclasses::shapes::mark;

use super::list::List;

pub(super) fn add(list: &mut List) {
    let mut one = |name: &str, construct, body: fn(&mut CodeBuilder<'_>)| {
        list.test(name, construct, 52, &[0, 3], body);
    };
    one("lines_in_order", "LineNumberTable from 0", lines_in_order);
    one(
        "lines_out_of_order",
        "LineNumberTable whose rows do not ascend",
        lines_out_of_order,
    );
    one(
        "lines_several_tables",
        "several LineNumberTables in one Code",
        several_tables,
    );
    one(
        "lines_not_from_zero",
        "LineNumberTable that begins after 0",
        not_from_zero,
    );
    one(
        "lines_twice_at_one_pc",
        "LineNumberTable with two rows for 0",
        twice,
    );
    one("lines_empty", "LineNumberTable without rows", empty);
    one(
        "locals_zero_length",
        "LocalVariableTable with ranges of length 0",
        zero_length,
    );
    one(
        "locals_to_code_end",
        "LocalVariableTable with ranges up to code_length",
        to_end,
    );
    one(
        "locals_around_probes",
        "ranges that end or begin at a return",
        around_return,
    );
    one(
        "locals_two_tables",
        "two LocalVariableTables in one Code",
        two_tables,
    );
    one(
        "local_types",
        "LocalVariableTypeTable beside LocalVariableTable",
        types,
    );
}

/// Appends code that returns 5 if `n` is 0, and otherwise continues. Returns a label for each
/// instruction boundary.
fn body(code: &mut CodeBuilder<'_>) -> Vec<loadhook_testclasses::assembler::Label> {
    let mut at = vec![code.here()];
    let on = code.label();
    code.iload(0);
    at.push(code.here());
    code.branch(op::IFNE, on);
    at.push(code.here());
    code.iconst(5);
    at.push(code.here());
    code.op(op::IRETURN);
    at.push(code.here());
    code.bind(on).frame(&[V::Integer], &[]);
    mark(code, 1);
    at.push(code.here());
    code.iload(0).op(op::IRETURN);
    at.push(code.here());
    at
}

fn lines_in_order(code: &mut CodeBuilder<'_>) {
    let at = body(code);
    code.line_table(&[
        (at[0], 10),
        (at[2], 11),
        (at[3], 12),
        (at[4], 13),
        (at[5], 65_535),
    ]);
}

fn lines_out_of_order(code: &mut CodeBuilder<'_>) {
    let at = body(code);
    code.line_table(&[
        (at[4], 13),
        (at[0], 10),
        (at[3], 12),
        (at[2], 11),
        (at[0], 9),
    ]);
}

fn several_tables(code: &mut CodeBuilder<'_>) {
    let at = body(code);
    code.line_table(&[(at[3], 30), (at[4], 31)])
        .line_table(&[(at[0], 10)]);
    code.local_variable(LocalTable::Variables, (at[0], at[6]), "n", "I", 0);
    code.line_table(&[(at[5], 50)]);
}

fn not_from_zero(code: &mut CodeBuilder<'_>) {
    let at = body(code);
    code.line_table(&[(at[2], 10), (at[4], 13)]);
}

fn twice(code: &mut CodeBuilder<'_>) {
    let at = body(code);
    code.line_table(&[(at[0], 10), (at[0], 11), (at[4], 0)]);
}

fn empty(code: &mut CodeBuilder<'_>) {
    body(code);
    code.line_table(&[]);
}

fn zero_length(code: &mut CodeBuilder<'_>) {
    let at = body(code);
    for (index, &start) in at[..at.len() - 1].iter().enumerate() {
        let name = format!("empty{index}");
        code.local_variable(LocalTable::Variables, (start, start), &name, "I", 1);
    }
}

fn to_end(code: &mut CodeBuilder<'_>) {
    let at = body(code);
    let end = at[at.len() - 1];
    for (index, start) in [0, 1, 4, 5].into_iter().enumerate() {
        let name = format!("late{index}");
        code.local_variable(LocalTable::Variables, (at[start], end), &name, "I", 2);
    }
}

fn around_return(code: &mut CodeBuilder<'_>) {
    let at = body(code);
    code.local_variable(LocalTable::Variables, (at[0], at[3]), "to_return", "I", 1);
    code.local_variable(LocalTable::Variables, (at[3], at[4]), "the_return", "I", 2);
    code.local_variable(
        LocalTable::Variables,
        (at[4], at[5]),
        "after_return",
        "I",
        3,
    );
    code.local_variable(LocalTable::Variables, (at[0], at[1]), "first", "I", 4);
    code.local_variable(LocalTable::Variables, (at[1], at[6]), "after_first", "I", 5);
}

/// Writes the second table as raw bytes. Its variable is named `n` and has the descriptor `I`.
fn two_tables(code: &mut CodeBuilder<'_>) {
    let at = body(code);
    code.local_variable(LocalTable::Variables, (at[0], at[6]), "m", "I", 0);
    let (name, descriptor) = (code.pool().utf8("n"), code.pool().utf8("I"));
    // The table has one row: local 1 is valid in the first four bytes of code (iload_0, ifne).
    let mut second = Vec::new();
    for value in [1, 0, 4, name, descriptor, 1] {
        second.extend_from_slice(&value.to_be_bytes());
    }
    code.attribute("LocalVariableTable", &second);
}

fn types(code: &mut CodeBuilder<'_>) {
    let at = body(code);
    let list = ("Ljava/util/List;", "Ljava/util/List<TT;>;");
    code.local_variable(LocalTable::Variables, (at[0], at[6]), "n", "I", 0);
    code.local_variable(LocalTable::Variables, (at[1], at[3]), "list", list.0, 1);
    code.local_variable(LocalTable::Variables, (at[4], at[4]), "none", list.0, 2);
    code.local_variable(LocalTable::VariableTypes, (at[1], at[3]), "list", list.1, 1);
    code.local_variable(LocalTable::VariableTypes, (at[4], at[4]), "none", list.1, 2);
}
