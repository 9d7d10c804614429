//! Planning one method: its rewritten `Code` attribute, appended to a buffer.

mod attributes;
mod construction;
mod cover;
mod frames;
mod located;
mod plan;
mod planner;
mod sites;

pub(crate) use planner::{Context, MethodPlanner};
