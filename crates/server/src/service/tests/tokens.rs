//! Rollbacks that tokens of clients show, without a witness.

use super::*;

/// Makes four releases, and returns a copy of the store after the first one with the token of the last one.
pub(super) async fn halt_rolled_back(
    text: &str,
    clock: &Arc<ManualClock>,
) -> (Arc<MemoryStore>, String) {
    let store = Arc::new(MemoryStore::new([1; 16]));
    let service = open(text, &store, clock, Secret::from_bytes([3; 32])).await.unwrap();
    clock.pass(TICK);
    service.tick("home").await.unwrap();
    let copy = Arc::new(store.copy());
    for _ in 2..=4 {
        clock.pass(TICK);
        service.tick("home").await.unwrap();
    }
    let token = service.central("home").unwrap().answering().token.clone();
    (copy, token)
}

#[tokio::test]
async fn a_rollback_that_a_client_has_shown_is_remembered_without_a_witness() {
    let clock = Arc::new(ManualClock::at(START));
    let text = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    let (copy, token) = halt_rolled_back(&text, &clock).await;
    let start = async || open(&text, &copy, &clock, Secret::from_bytes([3; 32])).await.unwrap();
    let service = start().await;
    assert!(service.troubles().is_empty());
    service.notice("home", &token).await.unwrap();
    for _ in 0..2 {
        let service = start().await;
        clock.pass(TICK);
        assert_eq!(service.tick("home").await.unwrap(), Ticked::Halted);
    }
    let service = start().await;
    let head = service.head(service.central("home").unwrap()).await.unwrap();
    let named = HeadName::new(head.number, &head.chain).text();
    assert_eq!(service.accept_rollback("home", &named).await.unwrap().replays, 1);
    // Once it is accepted, the note is void.
    let service = start().await;
    assert!(service.troubles().is_empty());
    clock.pass(TICK);
    assert!(matches!(service.tick("home").await.unwrap(), Ticked::Released(_)));
}

/// The head of the loop as an operator names it.
async fn named(service: &Service) -> String {
    let head = service.head(service.central("home").unwrap()).await.unwrap();
    HeadName::new(head.number, &head.chain).text()
}

/// Clients come back one after the other, each with the last head that it saw of the line that was dropped.
#[tokio::test]
async fn one_acceptance_covers_all_tokens_that_were_shown_before_it() {
    let clock = Arc::new(ManualClock::at(START));
    let text = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    let (copy, last) = halt_rolled_back(&text, &clock).await;
    let service = open(&text, &copy, &clock, Secret::from_bytes([3; 32])).await.unwrap();
    let loop_ = service.central("home").unwrap();
    let token =
        |number| Token::write(&service.tokens, loop_.generation, &HeadName::new(number, &[9; 32]));
    for shown in [&token(2), &token(3), &last] {
        service.notice("home", shown).await.unwrap();
    }
    assert_eq!(service.accept_rollback("home", &named(&service).await).await.unwrap().replays, 1);
    clock.pass(TICK);
    assert_eq!(service.tick("home").await.unwrap(), Ticked::Released(6));
    for shown in [&token(2), &token(3), &last] {
        service.notice("home", shown).await.unwrap();
        assert_eq!(service.troubles(), Vec::<String>::new());
    }
}

/// A backup is restored twice, and each time releases are made: three lines in all. Releases of the second one could be of the first one, by all that
/// the store knows, and is charged.
#[tokio::test]
async fn a_token_beyond_what_was_accepted_is_charged_because_it_may_be_of_another_line() {
    let clock = Arc::new(ManualClock::at(START));
    let text = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    let start = async |store: &Arc<MemoryStore>| {
        open(&text, store, &clock, Secret::from_bytes([3; 32])).await.unwrap()
    };
    let (backup, first) = halt_rolled_back(&text, &clock).await;
    let second = start(&Arc::new(backup.copy())).await;
    for _ in 0..7 {
        clock.pass(TICK);
        second.tick("home").await.unwrap();
    }
    let second = second.central("home").unwrap().answering().token.clone();
    let service = start(&backup).await;
    for (shown, replays) in [(&first, 1), (&second, 2)] {
        service.notice("home", shown).await.unwrap();
        clock.pass(TICK);
        assert_eq!(service.tick("home").await.unwrap(), Ticked::Halted);
        assert_eq!(
            service.accept_rollback("home", &named(&service).await).await.unwrap().replays,
            replays
        );
        service.tick("home").await.unwrap();
    }
    let charged = service.certificate("home").await.unwrap().guarantee.epsilon();
    // mu sqrt(3).
    assert!((1.75..1.9).contains(&charged), "{charged}");
}

#[tokio::test]
async fn a_rollback_that_one_loop_shows_stops_all_loops_of_the_file() {
    let clock = Arc::new(ManualClock::at(START));
    let home = file("epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"", "");
    let text = format!("{home}\n{}", home.replace("loop.home", "loop.other"));
    let (copy, token) = halt_rolled_back(&text, &clock).await;
    let start = async || open(&text, &copy, &clock, Secret::from_bytes([3; 32])).await.unwrap();
    let service = start().await;
    clock.pass(TICK);
    assert!(matches!(service.tick("other").await.unwrap(), Ticked::Released(_)));
    service.notice("home", &token).await.unwrap();
    // A loop that is out of the file for a time stops when it is back.
    let (alone, shown) = halt_rolled_back(&text, &clock).await;
    let without = open(&home, &alone, &clock, Secret::from_bytes([3; 32])).await.unwrap();
    without.notice("home", &shown).await.unwrap();
    let back = open(&text, &alone, &clock, Secret::from_bytes([3; 32])).await.unwrap();
    clock.pass(TICK);
    assert_eq!(back.tick("other").await.unwrap(), Ticked::Halted);
    for _ in 0..2 {
        // The next process knows it too.
        let service = start().await;
        clock.pass(TICK);
        assert_eq!(service.tick("other").await.unwrap(), Ticked::Halted);
        assert!(service.troubles().iter().any(|why| why.contains("another loop shows")));
    }
    let service = start().await;
    for name in ["other", "home"] {
        let head = service.head(service.central(name).unwrap()).await.unwrap();
        let named = HeadName::new(head.number, &head.chain).text();
        assert_eq!(service.accept_rollback(name, &named).await.unwrap().replays, 1);
    }
    let service = start().await;
    assert_eq!(service.troubles(), Vec::<String>::new());
    clock.pass(TICK);
    assert!(matches!(service.tick("other").await.unwrap(), Ticked::Released(_)));
}
