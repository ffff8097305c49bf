//! The release that answers people at a moment, with the token of its head.

use crate::{
    loops::{HeadName, Served, Token},
    secret::Secret,
    store::LifeId,
};

/// The release that answers people, with its token.
pub struct Answering {
    /// Everything that has been released.
    pub served: Served,
    /// The token of its head.
    pub token: String,
}

impl Answering {
    pub(super) fn new(served: Served, tokens: &Secret, life: LifeId) -> Self {
        let token = Token::write(tokens, life, &HeadName::new(served.number, &served.chain));
        Answering { served, token }
    }
}
