//! The head of a loop as clients echo it: `number.hash.mac`.
//!
//! A client that has seen a higher number than a server serves shows a rollback of the server, or that another one is ahead; another hash at a
//! known number shows two releases of one number. A token that this service has not made is ignored: an attacker could otherwise stop a loop by
//! inventing one.

use crate::{
    records::{Digest, GenerationId},
    secret::{Secret, from_hex, hex},
};

/// The number and the first 128 bits of the chain of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadName {
    /// The number of the last release.
    pub number: u64,
    /// The beginning of the hash of its chain.
    pub hash: [u8; 16],
}

impl HeadName {
    /// The head of this number and chain.
    pub fn new(number: u64, chain: &Digest) -> Self {
        let mut hash = [0; 16];
        hash.copy_from_slice(&chain[..16]);
        HeadName { number, hash }
    }

    /// `number.hash`, as an operator names a head.
    pub fn text(&self) -> String {
        format!("{}.{}", self.number, hex(&self.hash))
    }

    /// Reads `number.hash`.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, hash) = text.split_once('.')?;
        let hash = from_hex(hash)?.try_into().ok()?;
        Some(HeadName { number: number.parse().ok()?, hash })
    }
}

/// Makes and reads tokens.
pub struct Token;

impl Token {
    /// The token of a head.
    pub fn write(secret: &Secret, generation: GenerationId, head: &HeadName) -> String {
        let code =
            secret.hash(&Self::parts(&generation.to_le_bytes(), &head.number.to_le_bytes(), head));
        format!("{}.{}", head.text(), hex(&code[..16]))
    }

    /// The head of a token of this service; none for anything else.
    pub fn read(secret: &Secret, generation: GenerationId, token: &str) -> Option<HeadName> {
        let (head, code) = token.rsplit_once('.')?;
        let (head, code) = (HeadName::parse(head)?, from_hex(code)?);
        let (generation, number) = (generation.to_le_bytes(), head.number.to_le_bytes());
        secret.verify(&Self::parts(&generation, &number, &head), &code).then_some(head)
    }

    fn parts<'a>(generation: &'a [u8], number: &'a [u8], head: &'a HeadName) -> [&'a [u8]; 4] {
        [b"head", generation, number, &head.hash]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tokens_of_this_service_are_read() {
        let (secret, other) = (Secret::from_bytes([1; 32]), Secret::from_bytes([2; 32]));
        let head = HeadName::new(17, &[9; 32]);
        let token = Token::write(&secret, 3, &head);
        assert_eq!(Token::read(&secret, 3, &token), Some(head));
        assert_eq!(Token::read(&other, 3, &token), None);
        assert_eq!(Token::read(&secret, 4, &token), None);
        assert_eq!(Token::read(&secret, 3, &token.replacen("17", "18", 1)), None);
        for bad in
            ["", "17", "17.00", "17.zz.zz", &token[..token.len() - 2], "\u{e9}.\u{e9}.\u{e9}"]
        {
            assert_eq!(Token::read(&secret, 3, bad), None);
        }
    }
}
