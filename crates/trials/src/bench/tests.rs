//! The parts that need no program of their own, with few events.

#[path = "../../../server/src/store/postgres/testing.rs"]
mod testing;

use super::*;
use testing::cluster;

fn options(folder: PathBuf, database: Option<String>) -> BenchOptions {
    BenchOptions {
        program: "none".into(),
        folder,
        database: database.map(Into::into),
        parts: vec![Part::Release, Part::Growth],
        requests: 100,
        events: 100,
        growth: 100,
    }
}

async fn figures(database: Option<String>) -> Vec<Figure> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("bench");
    let figures = run(&options(folder.clone(), database), |_| {}).await.unwrap();
    assert!(!folder.exists(), "what was measured is removed");
    for figure in &figures {
        let sound = |value: f64| value.is_finite() && value > 0.0;
        assert!(sound(figure.measured), "{figure:?}");
        assert!(figure.bare.iter().all(|bare| sound(bare.measured) && sound(bare.ratio)));
    }
    figures
}

#[tokio::test]
async fn releases_and_growth_are_measured_on_the_embedded_store() {
    let figures = figures(None).await;
    let named = |name: &str| figures.iter().filter(|figure| figure.what.contains(name)).count();
    assert_eq!(named("release of 100 events, d ="), 4, "four dimensions");
    let first = |name: &str| figures.iter().find(|figure| figure.what.contains(name)).unwrap();
    assert!(first("d = 8").bare.is_empty() && !first("events, d = 16").bare.is_empty());
    assert_eq!(named("of no events"), 4);
    assert_eq!(named("rank with 100 open events"), 1);
    assert_eq!(named("rank with 100 released events"), 1);
    assert_eq!(named("the store's file, for each event"), 2);
}

#[tokio::test]
async fn releases_and_growth_are_measured_in_a_database_too() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.empty();
    let figures = figures(Some(database.clone())).await;
    let in_database = |name: &str| figures.iter().any(|figure| figure.what == name);
    assert!(in_database("PostgreSQL, release of 100 events, d = 64"));
    assert!(in_database("PostgreSQL, rank with 100 open events"));
    assert!(in_database("PostgreSQL, rank with 100 released events"));
    let folder = tempfile::tempdir().unwrap();
    let again = options(folder.path().join("bench"), Some(database));
    let refused = run(&again, |what| panic!("{what} is measured")).await.unwrap_err().to_string();
    assert!(refused.contains("holds a store already") && !again.folder.exists(), "{refused}");
}

#[tokio::test]
async fn processes_without_a_database_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let alone = options(folder.path().join("bench"), None);
    let refused = run(&BenchOptions { parts: vec![Part::Replicas], ..alone }, |_| {}).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("--database"), "{refused}");
    let unknown = "replica".parse::<Part>().unwrap_err().to_string();
    assert!(unknown.contains("replica") && unknown.contains("growth"), "{unknown}");
}

#[test]
fn a_password_is_not_printed() {
    let options = options("bench".into(), Some("postgres://user:swordfish@host/database".into()));
    assert!(!format!("{options:?}").contains("swordfish"));
}
