//! Answers of a server and a shuffler about sealing (`GET /v1/loops/{loop}/sealing`), as JSON that is read by little code. A device prices them itself, and its
//! reports carry the hash of the protocol that was priced.

use crate::{
    fields::{Fields, wrong},
    little,
};
use reticent::{Result, features::FeaturesParams};

use super::{ProtocolHash, PublicKey, from_hex};

/// Answer of a server about sealing.
#[derive(Debug, Clone, PartialEq)]
pub struct Sealing {
    /// The rule from records to vectors.
    pub features: FeaturesParams,
    /// Hash of the parameters of the loop's generation.
    pub params_hash: u64,
    /// Reports in a batch.
    pub batch: u64,
    /// Number of them that are taken to be honest people's.
    pub honest: u64,
    /// The key that reports are sealed to; none where they are sealed to the shuffler, which sums.
    pub key: Option<PublicKey>,
    /// The hash of the protocol, as the server has it.
    pub protocol: ProtocolHash,
}

/// Answer of a shuffler about sealing.
#[derive(Debug, Clone, PartialEq)]
pub struct ShufflerSealing {
    /// The key that reports are sealed to, as the shuffler knows it: its own if it sums, and the server's otherwise.
    pub key: PublicKey,
    /// The hash of the protocol, as the shuffler's own file has it.
    pub protocol: ProtocolHash,
}

impl Sealing {
    /// Reads a server's answer; fields that a device does not need are passed over.
    pub fn read(json: &[u8]) -> Result<Self> {
        let mut fields = Fields::of_object("sealing", json)?;
        let summed = match fields.text("mode")?.as_str() {
            "sealed" => false,
            "sum" => true,
            _ => return Err(wrong("mode")),
        };
        let key = match summed {
            true => None,
            false => Some(PublicKey::parse(&fields.text("public_key")?)?),
        };
        let params_hash = fields.text("generation")?;
        Ok(Sealing {
            features: little::features(fields.take("features")?)?,
            params_hash: u64::from_str_radix(&params_hash, 16).map_err(|_| wrong("generation"))?,
            batch: fields.whole("batch")?,
            honest: fields.whole("honest")?,
            key,
            protocol: protocol(&mut fields)?,
        })
    }

    /// Returns whether the shuffler sums.
    pub fn summed(&self) -> bool {
        self.key.is_none()
    }
}

impl ShufflerSealing {
    /// Reads a shuffler's answer.
    pub fn read(json: &[u8]) -> Result<Self> {
        let mut fields = Fields::of_object("sealing", json)?;
        let key = PublicKey::parse(&fields.text("public_key")?)?;
        Ok(ShufflerSealing { key, protocol: protocol(&mut fields)? })
    }
}

fn protocol(fields: &mut Fields) -> Result<ProtocolHash> {
    let bytes = from_hex(&fields.text("protocol")?).and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| wrong("protocol"))
}
