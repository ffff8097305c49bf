//! Reward window: the time at which a decision closes.
//!
//! **Why a window.** Releases come after certain numbers of contributions. If clicks are reported and silence is not, a click is a
//! contribution and silence is none: after 63 contributions one person's click causes release 64 to be made and their silence does
//! not, which every reader of the model sees. No noise on the contents of a release hides when it is made.
//!
//! **Claim.** With a window, at which call each decision contributes, and at which call each release is made, is a function of the sequence
//! of calls to `decide` and `close_before` (and of the times they are given) alone.
//!
//! *Proof.* A call to `observe`, `expire` or `dismiss` writes the answer of an open decision, or nothing if it is closed; it
//! absorbs nothing. A call to `decide` adds one open decision, and with `Decisions(w)` closes the oldest if w are open; over-long arms
//! are clipped and not refused, so that it does so whatever finite numbers the person's features are and whichever existing blocks of parameters they name. `close_before(t)` closes those whose time is below t.
//! Both look at counts and times and at no answer. Closing absorbs exactly one contribution, in the order of decisions, and the schedule of
//! releases counts contributions. So neither answers nor features decide when anything happens.
//!
//! Replace one person's data: their features, their reward, whether it came and when. One contribution of the sequence is replaced, at the
//! same place, by another clipped one; later people's are functions of their own data and of releases. That is the neighbouring relation
//! for which [`PrivateSum`](crate::release::PrivateSum) states its curve.
//!
//! A reward that comes after its decision has closed is answered with `late`, or as unknown if the learner has been restarted since; that
//! depends on the calls above and not on the reward.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Time at which a decision closes, and contributes its reward or the default one: in files and in Python a number of later decisions, `500`, or
/// `"clock"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schemars(rename = "RewardWindow", transform = add_number))]
pub enum RewardWindow {
    /// After this number of later decisions; also earlier, if the caller's clock says so.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Count"))]
    Decisions(u64),
    /// At a time of the caller's clock, by [`close_before`](super::JointLinUcb::close_before).
    Clock,
}

impl Serialize for RewardWindow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RewardWindow::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for RewardWindow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrClock;

        impl<'de> de::Visitor<'de> for NumberOrClock {
            type Value = RewardWindow;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a whole number of later decisions, or \"clock\"")
            }

            fn visit_u64<E: de::Error>(self, decisions: u64) -> Result<RewardWindow, E> {
                Ok(RewardWindow::Decisions(decisions))
            }

            fn visit_i64<E: de::Error>(self, decisions: i64) -> Result<RewardWindow, E> {
                let negative = || E::invalid_value(de::Unexpected::Signed(decisions), &self);
                u64::try_from(decisions).map(RewardWindow::Decisions).map_err(|_| negative())
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<RewardWindow, E> {
                match word {
                    "clock" => Ok(RewardWindow::Clock),
                    other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
                }
            }

            /// As it is written: `{ decisions = 500 }`.
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<RewardWindow, A::Error> {
                RewardWindow::deserialize(de::value::MapAccessDeserializer::new(map))
            }
        }

        if deserializer.is_human_readable() {
            deserializer.deserialize_any(NumberOrClock)
        } else {
            RewardWindow::deserialize(deserializer)
        }
    }
}

/// The number by itself is a window too.
#[cfg(feature = "schema")]
fn add_number(schema: &mut schemars::Schema) {
    if let Some(serde_json::Value::Array(forms)) = schema.get_mut("oneOf") {
        forms.push(serde_json::json!({ "type": "integer", "minimum": 1 }));
    }
}
