//! A loop's lives: one begins with every new generation, which is told in the log with what has changed.

use tracing::info;

use crate::{
    Error, Result,
    config::LoopParams,
    store::{Life, NewLife, Store},
};

/// Goes on with the present life of a loop, or begins another one if its generation is a new one. Over the same periods its persons are counted in the same ledger, if that is whole.
pub(crate) async fn begin(store: &dyn Store, new: NewLife, is_whole: bool) -> Result<Life> {
    let read = |params: &[u8]| serde_json::from_slice::<LoopParams>(params).map_err(Error::store);
    let now = read(&new.params)?;
    let present = |life: &Life| life.name == new.name && life.ended.is_none();
    let before = store.lives().await?.into_iter().find(present);
    let counts_with = match &before {
        Some(before) if is_whole && read(&before.params)?.counts_with(&now) => Some(before.id),
        _ => None,
    };
    let life = store.begin_life(NewLife { counts_with, ..new }).await?;
    let (name, number) = (&life.name, life.id);
    let generation = format_args!("{:016x}", life.generation);
    match before {
        Some(before) if before.id == life.id => {}
        Some(before) => {
            let mut changed = read(&before.params)?.changes(&now);
            if changed.is_empty() {
                changed.push("a file that it begins with, or the program");
            }
            let changed = changed.join(", ");
            info!(r#loop = %name, life = number, %generation, %changed, "a new generation begins and learns anew");
        }
        None => {
            info!(r#loop = %name, life = number, %generation, "the first generation begins");
        }
    }
    Ok(life)
}
