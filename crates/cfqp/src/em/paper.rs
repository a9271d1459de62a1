//! The published algorithm.

use super::explore::Context;
use super::fitted::Fitted;
use crate::Result;

pub(crate) fn paper_recipe(_context: &Context<'_>) -> Result<Fitted> {
    unimplemented!()
}
