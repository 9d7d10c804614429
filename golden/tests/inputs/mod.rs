//! The inputs: committed classes, hand-made classes, and a few classes at the limits of the format.

use loadhook_golden::{committed, handmade};
use loadhook_testclasses::limits;

/// The inputs from `loadhook_testclasses::limits`. Their jumps must be widened. Another test runs
/// the other classes of that module, which have no snapshot.
const WIDENED: [&str; 16] = [
    "branches_goto_backward_32768_v52",
    "branches_goto_forward_32766_v49",
    "branches_if_icmplt_backward_32768_v52",
    "branches_ifeq_forward_32766_v49",
    "branches_ifeq_forward_32766_v50",
    "branches_ifeq_forward_32766_v52",
    "branches_ifnull_forward_32766_v52",
    "branches_jsr_backward_32768_v49",
    "branches_jsr_forward_32766_v49",
    "chains_padding_32762_2_v52",
    "constructors_ternary_32690_v52",
    "types_aaload_string_stack_v52",
    "under_new_ifeq_forward_32700_v52",
    "under_new_local_ifeq_backward_32700_v52",
    "under_this_ifeq_forward_32767_v52",
    "under_values_ifnull_forward_32700_v52",
];

/// Inputs that have a second snapshot: the text of the original class.
pub(crate) const ORIGINALS: [&str; 4] = [
    "handmade.type_annotation_all",
    "handmade.cldc_stack_map",
    "handmade.frame_full_all_items",
    "handmade.lines_out_of_order",
];

pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_handmade: bool,
    pub(crate) is_large: bool,
}

pub(crate) fn inputs() -> Vec<Input> {
    let committed = committed().unwrap().into_iter().map(|class| Input {
        name: class.name.replace('/', "."),
        bytes: class.bytes,
        is_handmade: false,
        is_large: false,
    });
    let handmade = handmade::all().into_iter().map(|class| Input {
        name: format!("handmade.{}", class.name),
        bytes: class.bytes,
        is_handmade: true,
        is_large: class.large,
    });
    let limits = limits::all().into_iter().filter_map(|case| {
        let name = case.name.strip_prefix("limits/")?;
        WIDENED.contains(&name).then(|| Input {
            name: format!("limits.{name}"),
            bytes: case.bytes(),
            is_handmade: true,
            is_large: true,
        })
    });
    committed.chain(handmade).chain(limits).collect()
}

pub(crate) fn input(name: &str) -> Input {
    let found = inputs().into_iter().find(|input| input.name == name);
    found.unwrap_or_else(|| panic!("no input has the name {name}"))
}
