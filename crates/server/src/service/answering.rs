//! The release that answers people at a moment, with the token of its head.

use crate::{
    loops::{HeadName, Served, Token},
    secret::Secret,
    store::GenerationId,
};

/// The release that answers people, with its token.
pub struct Answering {
    /// Everything that has been released.
    pub served: Served,
    /// The token of its head.
    pub token: String,
}

impl Answering {
    pub(super) fn new(served: Served, tokens: &Secret, generation: GenerationId) -> Self {
        let token = Token::write(tokens, generation, &HeadName::new(served.number, &served.chain));
        Answering { served, token }
    }
}
