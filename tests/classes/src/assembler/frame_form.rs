//! The forms of a stack map frame.

/// The form in which a frame is written (JVMS §4.7.4, `frame_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FrameForm {
    /// The shortest form that can express the frame.
    #[default]
    Auto,
    /// `same_frame`, 0–63.
    Same,
    /// `same_locals_1_stack_item_frame`, 64–127.
    SameLocals1,
    /// `same_locals_1_stack_item_frame_extended`, 247.
    SameLocals1Extended,
    /// `chop_frame`, 248–250.
    Chop,
    /// `same_frame_extended`, 251.
    SameExtended,
    /// `append_frame`, 252–254.
    Append,
    /// `full_frame`, 255.
    Full,
}
