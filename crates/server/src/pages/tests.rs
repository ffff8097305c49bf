//! Pages over the router, with hostile names, with every role and without one.

use std::sync::atomic::{AtomicBool, Ordering};

use axum::{
    body::{Body, to_bytes},
    http::Request,
};
use proptest::prelude::*;
use tower::ServiceExt;

use super::*;
use crate::{
    clock::{Clock, ManualClock},
    config::{Plan, ServiceFile},
    demo,
    loops::{Learning, Limits, RankRequest, RewardRequest, page::file_page},
    secret::Secret,
    service::Options as ServiceOptions,
    store::MemoryStore,
};

/// Keys "admin", "read" and "other", until they are revoked.
#[derive(Default)]
struct Keys(AtomicBool);

impl Access for Keys {
    fn sign_in(&self, key: &str) -> Option<Viewer> {
        let viewer = |admin, name: Option<&str>| Viewer {
            key_id: key.into(),
            admin,
            loop_name: name.map(String::from),
        };
        match key {
            "admin" => Some(viewer(true, None)),
            "read" => Some(viewer(false, Some("news"))),
            "other" => Some(viewer(false, Some("other"))),
            _ => None,
        }
    }

    fn still_valid(&self, _key_id: &str) -> bool {
        !self.0.load(Ordering::SeqCst)
    }

    fn calls(&self, _: &Viewer) -> Vec<Call> {
        let call = |name: &str| Call {
            name: name.into(),
            requests: 4711,
            errors: Some(0),
            median: Some(1.0),
            p99: None,
        };
        vec![call("rank"), call("reward calls")]
    }
}

struct World {
    router: Router,
    service: Arc<Service>,
    keys: Arc<Keys>,
    clock: Arc<ManualClock>,
}

impl World {
    async fn new(plans: Vec<Plan>) -> Self {
        let clock = Arc::new(ManualClock::at(1_800_000_000_000));
        let options = ServiceOptions {
            plans,
            store: Arc::new(MemoryStore::new([2; 16])),
            clock: clock.clone() as Arc<dyn Clock>,
            people: Secret::new().unwrap(),
            earlier_people: Vec::new(),
            events: Secret::from_bytes([5; 32]),
            witness: None,
            limits: Limits::default(),
            seal_key: None,
        };
        let service = Service::open(options).await.unwrap();
        let keys = Arc::new(Keys::default());
        let openapi = serde_json::json!({});
        let options =
            Options { service: service.clone(), access: keys.clone(), openapi, secure: true };
        World { router: routes(options), service, keys, clock }
    }

    async fn send(&self, request: Request<Body>) -> (StatusCode, HeaderMap, String) {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, 1 << 24).await.unwrap();
        (parts.status, parts.headers, String::from_utf8(bytes.to_vec()).unwrap())
    }

    async fn sign_in(&self, key: &str) -> Option<String> {
        let request = Request::post("/sign-in")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(format!("key={key}&next=/certificate")));
        let (status, headers, _) = self.send(request.unwrap()).await;
        let cookie = headers.get("set-cookie")?.to_str().unwrap();
        assert_eq!(
            (status, headers["location"].to_str().unwrap()),
            (StatusCode::SEE_OTHER, "/certificate")
        );
        Some(cookie.split(';').next().unwrap().to_string())
    }

    async fn get(&self, path: &str, cookie: &str) -> (StatusCode, String) {
        let request = Request::get(path).header("cookie", cookie).body(Body::empty()).unwrap();
        let (status, _, text) = self.send(request).await;
        (status, text)
    }

    /// Simulates this number of seconds of the demonstration's visitors.
    async fn let_pass(&self, seconds: u64) {
        let mut visitors = demo::Visitors::new(1);
        for _ in 0..seconds {
            visitors.come(&self.service, 600).await.unwrap();
            self.clock.pass(1000);
            self.service.tick(demo::LOOP).await.unwrap();
        }
    }
}

const PATHS: [&str; 6] =
    ["/", "/live", "/loops/news", "/loops/news/live", "/loops/news/certificate", "/certificate"];

#[tokio::test]
async fn nothing_is_shown_without_a_session() {
    let world = World::new(demo::plans().unwrap()).await;
    world.let_pass(1).await;
    for path in PATHS {
        let (status, page) = world.get(path, "reticent_session=00").await;
        assert_eq!(
            status,
            if path == "/" { StatusCode::OK } else { StatusCode::UNAUTHORIZED },
            "{path}"
        );
        assert!(!page.contains("Rank requests answered") && !page.contains("epsilon"), "{path}");
    }
    assert_eq!(world.sign_in("wrong").await, None);
    let cookie = world.sign_in("read").await.unwrap();
    for path in PATHS {
        assert_eq!(world.get(path, &cookie).await.0, StatusCode::OK, "{path}");
    }
    // A session ends with its key.
    world.keys.0.store(true, Ordering::SeqCst);
    assert_eq!(world.get("/certificate", &cookie).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn signing_out_ends_the_session() {
    let world = World::new(demo::plans().unwrap()).await;
    let cookie = world.sign_in("admin").await.unwrap();
    let request = Request::post("/sign-out").header("cookie", &cookie).body(Body::empty());
    assert_eq!(world.send(request.unwrap()).await.0, StatusCode::SEE_OTHER);
    assert_eq!(world.get("/live", &cookie).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn exact_counts_are_for_admin_keys_and_one_loop_is_for_its_own_keys() {
    let world = World::new(demo::plans().unwrap()).await;
    world.let_pass(3).await;
    let admin = world.sign_in("admin").await.unwrap();
    let read = world.sign_in("read").await.unwrap();
    let other = world.sign_in("other").await.unwrap();
    for path in ["/", "/live", "/loops/news", "/loops/news/live"] {
        let (_, exact) = world.get(path, &admin).await;
        let (_, public) = world.get(path, &read).await;
        for words in [
            "Rewards taken",
            "Visits used up",
            "internal only",
            "Features clipped",
            "Rank requests answered",
            "Rank requests without a person",
            "Open events",
        ] {
            assert!(exact.contains(words) && !public.contains(words), "{path} {words}");
        }
    }
    let (_, exact) = world.get("/live", &admin).await;
    let (_, public) = world.get("/live", &read).await;
    assert!(exact.contains("reward calls") && !public.contains("4,711"));
    for path in ["/loops/news", "/loops/news/live", "/loops/news/certificate", "/loops/none"] {
        assert_eq!(world.get(path, &other).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    assert!(!world.get("/", &other).await.1.contains("loop-news"));
}

/// Two worlds whose people differ in every reward: until the first release after them, a `read` key sees the same page.
#[tokio::test]
async fn rewards_change_nothing_that_a_read_key_sees_before_their_release() {
    let mut shown = Vec::new();
    for rewarded in [false, true] {
        let world = World::new(demo::plans().unwrap()).await;
        let read = world.sign_in("read").await.unwrap();
        for visit in 0..20 {
            let request: RankRequest = serde_json::from_value(serde_json::json!({
                "event_id": format!("e{visit}"), "person": "p", "context": {}, "actions": [{"id": "a"}],
            }))
            .unwrap();
            let answer = world.service.rank("news", request).await.unwrap();
            if rewarded {
                let reward = RewardRequest { value: 1.0, idempotency_key: None };
                world.service.reward("news", &answer.event_id, reward).await.unwrap();
            }
        }
        let mut pages = Vec::new();
        for path in ["/live", "/loops/news/live", "/certificate"] {
            pages.push(world.get(path, &read).await.1);
        }
        // The store of each world has the same identity, so that the hashes of both chains begin alike.
        shown.push(pages);
    }
    assert_eq!(shown[0], shown[1]);
}

#[tokio::test]
async fn the_chart_and_the_lift_appear_when_there_is_enough_to_show() {
    let world = World::new(demo::plans().unwrap()).await;
    let cookie = world.sign_in("admin").await.unwrap();
    assert!(world.get("/live", &cookie).await.1.contains("No rank request since"));
    // That would show a read key whether a person has asked.
    let read = world.sign_in("read").await.unwrap();
    assert!(!world.get("/live", &read).await.1.contains("No rank request since"));
    world.let_pass(30).await;
    let (_, page) = world.get("/loops/news", &cookie).await;
    assert!(page.contains("<polyline") && page.contains("time (UTC)"), "{page}");
    assert!(!page.contains("No rank request since"));
    assert!(!page.contains("NaN") && !page.contains("style="));
}

#[tokio::test]
async fn a_loop_is_not_said_to_learn_before_releases_show_it() {
    let world = World::new(demo::plans().unwrap()).await;
    let cookie = world.sign_in("read").await.unwrap();
    let page = world.get("/loops/news", &cookie).await.1;
    assert!(page.contains("before the first release") && !page.contains(">learning<"), "{page}");
    // The clock stands at a whole second, and the demonstration's tick is one.
    assert!(page.contains("next release at 08:00:01 UTC"), "{page}");
    let request = serde_json::json!({
        "event_id": "a", "person": "anna", "context": {}, "actions": [{ "id": "x" }],
    });
    let request: RankRequest = serde_json::from_value(request).unwrap();
    world.service.rank(demo::LOOP, request).await.unwrap();
    world.clock.pass(1000);
    world.service.tick(demo::LOOP).await.unwrap();
    let page = world.get("/loops/news", &cookie).await.1;
    assert!(page.contains("too few events") && !page.contains(">learning<"), "{page}");
    let (_, rest) = page.split_once("in which more than about ").unwrap();
    let least: u64 = rest.split_once(' ').unwrap().0.replace(',', "").parse().unwrap();
    assert!((2..100_000).contains(&least), "{least}");
    world.let_pass(30).await;
    // The release counts people now, and the mark follows their number beside the number that is needed.
    let page = world.get("/loops/news", &cookie).await.1;
    assert!(page.contains("events count so far") && page.contains("all decisions"), "{page}");
    let central = world.service.central(demo::LOOP).unwrap();
    let mark = match progress::of(central).unwrap().learning() {
        Learning::Enough => ">learning<",
        Learning::Gathering => "gathering events: ",
        Learning::Never => "too few events at this pace",
        Learning::TooFew => "too few events for a reliable figure",
    };
    assert!(page.contains(mark), "{mark}: {page}");
}

#[tokio::test]
async fn pages_keep_their_content_policy() {
    let world = World::new(demo::plans().unwrap()).await;
    let cookie = world.sign_in("admin").await.unwrap();
    world.let_pass(20).await;
    for path in PATHS.into_iter().chain(["/docs"]) {
        let request = Request::get(path).header("cookie", &cookie).body(Body::empty()).unwrap();
        let (_, headers, page) = world.send(request).await;
        assert_eq!(headers["content-security-policy"], CONTENT_POLICY);
        assert!(
            !page.contains("<style") && !page.contains(" style=") && !page.contains("javascript:"),
            "{path}"
        );
        // No attribute such as `onclick`.
        let handlers = page.split(" on").skip(1).filter(|rest| {
            let name = rest.chars().take_while(char::is_ascii_lowercase).count();
            name > 0 && rest.get(name..).is_some_and(|rest| rest.starts_with('='))
        });
        assert_eq!(handlers.count(), 0, "{path}");
        for address in ["http://", "https://", "//"] {
            for attribute in ["src", "href", "action"] {
                assert!(!page.contains(&format!("{attribute}=\"{address}")), "{path}");
            }
        }
    }
    for path in ["/assets/style.css", "/assets/live.js", "/assets/icon.svg"] {
        let (status, text) = world.get(path, "").await;
        assert!(status == StatusCode::OK && !text.contains("url(") && !text.contains("@import"));
    }
}

/// A file with hostile words wherever a file may hold words.
fn hostile(words: &str) -> Vec<Plan> {
    let words = toml::Value::String(words.to_string());
    let text = format!(
        r#"
        [loop.news]
        purpose = {words}
        privacy = {{ epsilon = 1.0, delta = 1e-6, visits = 3, per = "ever" }}
        [loop.news.context]
        {words} = {{ range = [0, 1] }}
        [loop.news.action]
        topic = {{ categories = [{words}, "other"] }}
        "#
    );
    ServiceFile::parse(&text).and_then(|file| file.check()).unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn hostile_words_never_become_markup(words in "[<>&\"'`/= a-zé]{0,12}", tail in "(<script>|</code>|\" onx=\"|'><img src=x>|<!--|\\]\\]>)") {
        let plans = hostile(&format!("{words}{tail}"));
        prop_assume!(!plans.is_empty());
        let tame = hostile("tame");
        let elements = |page: &str| page.matches('<').count();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (wild, calm) = runtime.block_on(async {
            let mut shown = Vec::new();
            for plans in [plans.clone(), tame.clone()] {
                let world = World::new(plans).await;
                let cookie = world.sign_in("admin").await.unwrap();
                let mut pages = Vec::new();
                for path in PATHS { pages.push(world.get(path, &cookie).await.1); }
                shown.push(pages);
            }
            (shown.remove(0), shown.remove(0))
        });
        for (wild, calm) in wild.iter().zip(&calm) {
            prop_assert_eq!(elements(wild), elements(calm));
        }
        let page = |plans: &[Plan]| file_page(plans, 0).unwrap();
        prop_assert_eq!(elements(&page(&plans)), elements(&page(&tame)));
    }

    #[test]
    fn hostile_paths_and_cookies_are_answered(path in "[!-~]{0,30}", cookie in "[ -~]{0,60}") {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let world = World::new(hostile("tame")).await;
            let signed_in = world.sign_in("admin").await.unwrap();
            for cookie in [cookie, signed_in] {
                let request = Request::get(format!("/loops/{path}")).header("cookie", cookie).body(Body::empty());
                if let Ok(request) = request {
                    let (status, _, page) = world.send(request).await;
                    assert!(status.is_client_error() || status.is_success(), "{status}");
                    assert!(!page.contains("<b>"));
                }
            }
        });
    }
}
