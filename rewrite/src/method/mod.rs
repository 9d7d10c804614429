//! Plans one method: appends its rewritten `Code` attribute to a buffer.

mod attributes;
mod construction;
mod cover;
mod frames;
mod located;
mod plan;
mod planner;
mod sites;

pub(crate) use planner::{Context, MethodPlanner};
