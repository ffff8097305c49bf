//! Requests that take long: what they may hold, and where they are worked on.

use reticent_server::loops::RankRequest;
use serde_json::json;

use crate::common::Server;

/// A request among this many actions.
fn among(id: &str, actions: usize) -> serde_json::Value {
    let actions: Vec<_> = (0..actions).map(|index| json!({ "id": index.to_string() })).collect();
    json!({ "event_id": id, "actions": actions })
}

#[tokio::test]
async fn requests_that_would_take_too_long_are_refused_by_field() {
    let server = Server::start().await;
    let many: Vec<_> = (0..33).map(|index| among(&format!("e{index}"), 1024)).collect();
    let batch = json!({ "requests": many }).to_string();
    let refused = server.post(&server.app_key, "/v1/loops/home/rank/batch", &batch).await;
    let problem = refused.expect(422).json();
    assert_eq!(
        (&problem["field"], &problem["value"]),
        (&json!("requests"), &json!("33792 actions"))
    );
    assert!(problem["remedy"].as_str().unwrap().contains("at most 32768"), "{problem}");
    let mut request = among("e0", 2);
    request["exclude"] = vec!["0"; 1025].into();
    let refused = server.post(&server.app_key, "/v1/loops/home/rank", &request.to_string()).await;
    let problem = refused.expect(422).json();
    assert_eq!((&problem["field"], &problem["value"]), (&json!("exclude"), &json!("1025 ids")));
    assert_eq!(server.service.central("home").unwrap().open_events(), 0);
    request["exclude"] = vec!["0"; 1024].into();
    let answer = server.post(&server.app_key, "/v1/loops/home/rank", &request.to_string()).await;
    assert_eq!(answer.expect(200).json()["action"], "1");
}

/// The test's only thread has its turns while the batch waits for another one, which is kept busy meanwhile.
#[test]
fn a_batch_of_many_actions_leaves_its_thread_to_others() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let server = Server::start().await;
        let request =
            |id: &str| -> RankRequest { serde_json::from_value(among(id, 1024)).unwrap() };
        // The first one reads the store, on the other thread too.
        server.service.rank_all("home", vec![request("first")]).await.unwrap();
        let (done, busy) = std::sync::mpsc::channel::<()>();
        let other = tokio::task::spawn_blocking(move || busy.recv());
        let requests = ["e0", "e1", "e2", "e3"].map(request).to_vec();
        let mut ranking = std::pin::pin!(server.service.rank_all("home", requests));
        for turn in 0..1000 {
            tokio::select! {
                biased;
                _ = ranking.as_mut() => panic!("answered on the test's own thread in turn {turn}"),
                () = tokio::task::yield_now() => {}
            }
        }
        done.send(()).unwrap();
        other.await.unwrap().unwrap();
        assert!(ranking.await.unwrap().iter().all(Result::is_ok));
    });
}
