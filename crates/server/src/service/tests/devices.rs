//! Loops whose people's devices add the noise, in one store with those of a curator.

use reticent::privacy::{TrustModel, Unit};

use super::*;

const DAY: u64 = 86_400_000;

fn devices(epsilon: f64) -> String {
    format!(
        r#"
        [loop.news]
        trust = "device"
        privacy = {{ epsilon = {epsilon}, delta = 1e-6, visits = 2, per = "ever" }}
        learner = {{ tick = "1 hour" }}
        [loop.news.action]
        topic = {{ categories = ["news", "sport"] }}
        "#
    )
}

/// Opens the loops of devices of a file.
async fn open_devices(text: &str, options: Options) -> Arc<Service> {
    let plans = ServiceFile::parse(text).unwrap().check().unwrap();
    Service::open(Options { plans, ..options }).await.unwrap()
}

fn options(store: &Arc<MemoryStore>, clock: &Arc<ManualClock>, people: u8) -> Options {
    Options {
        plans: Vec::new(),
        store: store.clone(),
        clock: clock.clone(),
        people: Secret::from_bytes([people; 32]),
        earlier_people: Vec::new(),
        events: Secret::from_bytes([5; 32]),
        witness: None,
        limits: Limits::default(),
        seal_key: None,
    }
}

#[tokio::test]
async fn the_time_of_the_last_model_is_known_and_no_key_of_people_is_needed() {
    let (store, clock) = (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
    let text = devices(1.0);
    let service = open_devices(&text, options(&store, &clock, 3)).await;
    for number in 1..=40 {
        clock.pass(DAY / 2);
        assert_eq!(service.tick("news").await.unwrap(), Ticked::Released(number));
    }
    // A restart under another key: no person is counted under the first one, and the clock is right.
    clock.pass(DAY / 2);
    let service = open_devices(&text, options(&store, &clock, 4)).await;
    assert_eq!(service.troubles(), [""; 0]);
    assert_eq!(service.tick("news").await.unwrap(), Ticked::Released(41));
    // A clock that shows another year is still doubted.
    clock.jump(START + 400 * DAY);
    let service = open_devices(&text, options(&store, &clock, 4)).await;
    assert!(service.troubles()[0].contains("accept-time"), "{:?}", service.troubles());
}

#[tokio::test]
async fn a_generation_that_only_the_witness_knows_is_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness");
    let (store, clock) = (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
    let witnessed = |store: &Arc<MemoryStore>| Options {
        witness: Some(Witness::open(&path).unwrap()),
        ..options(store, &clock, 3)
    };
    let total = async |service: &Arc<Service>| {
        service.together().await.unwrap().guarantee.unwrap().epsilon()
    };
    open_devices(&devices(1.0), witnessed(&store)).await;
    let backup = Arc::new(store.copy());
    let service = open_devices(&devices(2.0), witnessed(&store)).await;
    let honest = total(&service).await;
    let service = open_devices(&devices(1.0), witnessed(&backup)).await;
    assert_eq!(backup.generations().await.unwrap().len(), 3);
    assert!(honest > 2.0 && total(&service).await >= honest, "{honest}");
}

/// A total names the trusted parties, and the protected unit where it is not known which installations are one person's.
#[tokio::test]
async fn a_total_names_the_trust_and_the_unit_of_its_loops() {
    let curated = |name: &str| {
        format!(
            "[loop.{name}]\nprivacy = {{ epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\" }}\n[loop.{name}.action]\ntopic = {{ categories = [\"a\", \"b\"] }}\n"
        )
    };
    let both = format!("{}{}", devices(1.0), curated("home"));
    for (text, model, at_most, unit) in [
        (devices(1.0), TrustModel::Local, 2, "for all reports of one installation in"),
        (curated("home"), TrustModel::Joint, 1, "for all visits of one person in"),
        (
            both,
            TrustModel::Joint,
            3,
            "for all visits of one person and all reports of one installation in",
        ),
    ] {
        let plans = ServiceFile::parse(&text).unwrap().check().unwrap();
        let planned = crate::loops::Together::of_plans(&plans).unwrap();
        let (store, clock) =
            (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
        let options = Options { plans, ..options(&store, &clock, 3) };
        let service = Service::open(options).await.unwrap();
        for together in [planned, service.together().await.unwrap()] {
            assert_eq!(together.hides_taking_part, !text.contains("device"), "{text}");
            let guarantee = together.guarantee.unwrap();
            assert_eq!(guarantee.model(), model, "{text}");
            assert_eq!(guarantee.unit(), Unit::Person { at_most }, "{text}");
            let sentence = together.sentence.unwrap();
            assert!(sentence.contains(unit) && sentence.contains(&model.to_string()), "{sentence}");
        }
    }
}

/// Slots of such a loop are numbers of models: a clock that closed them would leave later reports uncounted for millions of models.
#[tokio::test]
async fn a_loop_of_devices_that_is_missing_for_one_start_goes_on() {
    let (store, clock) = (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
    let text = devices(1.0);
    let service = open_devices(&text, options(&store, &clock, 3)).await;
    clock.pass(DAY / 2);
    assert_eq!(service.tick("news").await.unwrap(), Ticked::Released(1));
    let generation = service.find("news").unwrap().generation;
    let head = store.head(generation).await.unwrap();
    let without = open_devices(&text.replace("news", "shop"), options(&store, &clock, 3)).await;
    without.sweep().await.unwrap();
    assert_eq!(store.head(generation).await.unwrap().closed, head.closed);
    let service = open_devices(&text, options(&store, &clock, 3)).await;
    clock.pass(DAY / 2);
    assert_eq!(service.tick("news").await.unwrap(), Ticked::Released(2));
    assert_eq!(store.head(generation).await.unwrap().closed, head.closed + 1);
    // The rest of an earlier generation goes.
    let service = open_devices(&devices(2.0), options(&store, &clock, 3)).await;
    service.sweep().await.unwrap();
    assert_eq!(store.head(generation).await.unwrap().closed, crate::store::LAST_SLOT);
}
