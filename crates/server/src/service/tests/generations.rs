//! What the log says when a generation begins.

use std::io::Write;

use super::*;

/// What this thread logs.
#[derive(Clone, Default)]
pub(super) struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    /// Captures until the guard is dropped.
    pub(super) fn begin() -> (Self, tracing::subscriber::DefaultGuard) {
        let captured = Captured::default();
        let writer = captured.clone();
        let subscriber =
            tracing_subscriber::fmt().json().with_writer(move || writer.clone()).finish();
        (captured, tracing::subscriber::set_default(subscriber))
    }

    /// What was written since the last call.
    pub(super) fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// On one thread, so that the log of this thread is all of it.
#[tokio::test(flavor = "current_thread")]
async fn a_new_generation_is_told_with_what_has_changed() {
    let (captured, _guard) = Captured::begin();
    let text = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    let mut world = World::new(&text).await;
    let generation = |world: &World| world.service.generation(world.service.find("home").unwrap());
    let told = captured.take();
    assert!(told.contains("the first generation begins"), "{told}");
    assert!(told.contains(&generation(&world)) && told.contains("\"loop\":\"home\""), "{told}");
    world.again(&text).await;
    assert_eq!(captured.take(), "", "nothing has begun");
    let later = text.replace("epsilon = 1.0", "epsilon = 2.0").replace("[0, 1]", "[0, 2]");
    world.again(&later).await;
    let told = captured.take();
    for words in [
        "a new generation begins and learns anew",
        "\"changed\":\"privacy, reward\"",
        "\"loop\":\"home\"",
        "\"life\":2",
        &generation(&world),
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
}
