//! The Prometheus rules in `packaging` name metrics that there are.

use std::collections::BTreeSet;

use crate::common::Server;

/// Words that begin with the prefix of the service's metrics.
fn metrics(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("reticent_")).collect()
}

#[tokio::test]
async fn rules_name_metrics_that_there_are() {
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/prometheus-rules.yml");
    let rules = std::fs::read_to_string(rules).unwrap();
    let server = Server::start().await;
    server.get(&server.admin_key, "/metrics").await.expect(200);
    let text = server.get(&server.admin_key, "/metrics").await.expect(200).body;
    let (named, present) = (metrics(&rules), metrics(&text));
    assert!(named.len() >= 6, "{named:?}");
    let missing: Vec<_> = named.difference(&present).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
