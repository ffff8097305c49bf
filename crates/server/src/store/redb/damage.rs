//! A damaged file. redb finds most damage by itself and returns an error; where the bytes of a file contradict each other in other ways it panics. Both end here,
//! as an error that names the file and says what to do.
//!
//! From then on nothing is read from the file or written to it: a group may be written in part, and what was read may be wrong.

use std::{
    cell::{Cell, RefCell},
    io::ErrorKind,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    path::Path,
    sync::Once,
};

use ::redb::Error;

thread_local! {
    /// True if a panic of this thread is caught here.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
    /// Place of the last one.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs something that reads or writes a file. A panic is an error with the place of the program where it was.
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    // Without it the standard hook would tell the operator of a fault of the program, beside the error that says what to do.
    HOOK.call_once(|| {
        let others = take_hook();
        set_hook(Box::new(move |panic| match CAUGHT.get() {
            true => PLACE.set(panic.location().map(ToString::to_string).unwrap_or_default()),
            false => others(panic),
        }));
    });
    let before = CAUGHT.replace(true);
    // Data that a panic leaves incomplete are not used any more: see `Shared::guarded`.
    let done = catch_unwind(AssertUnwindSafe(work));
    CAUGHT.set(before);
    done.map_err(|_| PLACE.take())
}

/// True if an error of redb says that the file is damaged. Every store has all tables, each with one type.
pub(super) fn is_damage(error: &Error) -> bool {
    match error {
        Error::Corrupted(_)
        | Error::UpgradeRequired(_)
        | Error::TableDoesNotExist(_)
        | Error::TableTypeMismatch { .. }
        | Error::TableIsMultimap(_)
        | Error::TypeDefinitionChanged { .. } => true,
        // The file is shorter than it says.
        Error::Io(error) => error.kind() == ErrorKind::UnexpectedEof,
        _ => false,
    }
}

/// Error of a damaged file.
pub(super) fn message(path: &Path, what: &str) -> String {
    format!(
        "{} is damaged ({what}): nothing is read from it or written to it any more; stop the service and restore a backup (docs/reference/service.md, Restoring)",
        path.display()
    )
}
