//! Figures about calls that the dashboard shows, by role of the key.

use reticent_server::http::Role;

use crate::common::Server;

/// The table of calls as the holder of a key sees it, if there is one.
async fn calls(server: &Server, key: &str) -> Option<String> {
    let form = "Content-Type: application/x-www-form-urlencoded";
    let body = format!("key={key}&next=/");
    let signed_in = server.send("POST", "/sign-in", &[form], &body).await.expect(303);
    let cookie = signed_in.header("set-cookie").unwrap().split(';').next().unwrap();
    let page = server.send("GET", "/", &[&format!("Cookie: {cookie}")], "").await.expect(200).body;
    page.find("id=\"calls\"").map(|begin| page[begin..].to_string())
}

/// With a default of 0 the number of rewards is their sum, rank requests wait for the same writer as rewards, so that their times would show it, and the number
/// of rank requests shows whether a person came at all.
#[tokio::test]
async fn times_and_errors_of_calls_are_for_the_curators_eyes() {
    let server = Server::start().await;
    let other = server.key("other", &[Role::Decide]).await;
    for id in ["1", "2"] {
        let body = r#"{"actions": [{"id": "a"}]}"#;
        server.post(&other, "/v1/loops/other/rank", body).await.expect(200);
        server.rank(id, "anna").await.expect(200);
    }
    server.rank("3", "anna").await.expect(200);
    server.reward("1", 1.0).await.expect(204);
    server.reward("unknown", 1.0).await.expect(404);
    server.post(&server.app_key, "/v1/loops/home/rank", "{}").await.expect(422);
    let exact = calls(&server, &server.admin_key).await.expect("a table of calls");
    for words in ["reward calls", "activate calls", "within"] {
        assert!(exact.contains(words), "{words}: {exact}");
    }
    // Two calls for rewards, of which one failed.
    let row = &exact[exact.find("reward calls").unwrap()..];
    assert!(row.contains(">2<") && row.contains(">1<"), "{row}");
    assert_eq!(calls(&server, &server.read_key).await, None);
}
