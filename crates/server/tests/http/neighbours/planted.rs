//! Services with a fault around their routes: each tells a reader something about one person.

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicU64, Ordering},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
    http::{StatusCode, header},
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
};
use reticent_server::service::{Counts, Service};

/// Adds the number of rewards to the metrics of every key.
pub fn reward_count_in_metrics(routes: Router, service: Arc<Service>) -> Router {
    count_in_metrics(routes, service, |counts| &counts.rewards)
}

/// Adds the number of rank requests to the metrics of every key.
pub fn rank_count_in_metrics(routes: Router, service: Arc<Service>) -> Router {
    count_in_metrics(routes, service, |counts| &counts.ranks)
}

fn count_in_metrics(
    routes: Router,
    service: Arc<Service>,
    count: fn(&Counts) -> &AtomicU64,
) -> Router {
    routes.layer(from_fn(move |request: Request, next: Next| {
        let service = Arc::clone(&service);
        async move {
            let metrics = request.uri().path() == "/metrics";
            let response = next.run(request).await;
            if !metrics {
                return response;
            }
            let count = count(&service.central("home").unwrap().counts).load(Ordering::Relaxed);
            append(response, &format!("reticent_planted_total{{loop=\"home\"}} {count}\n")).await
        }
    }))
}

/// Refuses rank requests while too many events wait for their reward: a reward makes room.
pub fn too_many_by_open_rewards(routes: Router, _: Arc<Service>) -> Router {
    let waiting = Arc::new(AtomicI64::new(0));
    routes.layer(from_fn(move |request: Request, next: Next| {
        let waiting = Arc::clone(&waiting);
        async move {
            let path = request.uri().path().to_string();
            if path.ends_with("/rank") && waiting.load(Ordering::SeqCst) >= 10 {
                return StatusCode::TOO_MANY_REQUESTS.into_response();
            }
            let response = next.run(request).await;
            if response.status().is_success() {
                let change =
                    i64::from(path.ends_with("/rank")) - i64::from(path.ends_with("/reward"));
                waiting.fetch_add(change, Ordering::SeqCst);
            }
            response
        }
    }))
}

/// Counts an event as open until its reward has come.
pub fn open_until_rewarded(routes: Router, _: Arc<Service>) -> Router {
    let rewarded = Arc::new(AtomicI64::new(0));
    routes.layer(from_fn(move |request: Request, next: Next| {
        let rewarded = Arc::clone(&rewarded);
        async move {
            let path = request.uri().path().to_string();
            let response = next.run(request).await;
            if path.ends_with("/reward") && response.status().is_success() {
                rewarded.fetch_add(1, Ordering::SeqCst);
            }
            match path.as_str() {
                "/live" => append(response, &format!("{}", rewarded.load(Ordering::SeqCst))).await,
                _ => response,
            }
        }
    }))
}

/// Says in a header of all answers how many people have used up their visits.
pub fn ledger_in_headers(routes: Router, service: Arc<Service>) -> Router {
    routes.layer(from_fn(move |request: Request, next: Next| {
        let service = Arc::clone(&service);
        async move {
            let mut response = next.run(request).await;
            let home = service.central("home").unwrap();
            let count = service.ledger_count(home).await.unwrap().unwrap();
            response.headers_mut().insert("x-used-up", count.used_up.into());
            response
        }
    }))
}

/// Leaves a raw row's absence to be seen: the certificate page counts the rows that are kept.
pub fn rows_on_the_certificate(routes: Router, service: Arc<Service>) -> Router {
    routes.layer(from_fn(move |request: Request, next: Next| {
        let service = Arc::clone(&service);
        async move {
            let page = request.uri().path() == "/loops/home/certificate";
            let response = next.run(request).await;
            if !page {
                return response;
            }
            let rows = service.export("home", Default::default(), 1000).await.unwrap().0.len();
            append(response, &format!("<p>{rows} rows</p>")).await
        }
    }))
}

async fn append(response: Response, text: &str) -> Response {
    let (mut parts, body) = response.into_parts();
    let mut bytes = to_bytes(body, usize::MAX).await.unwrap().to_vec();
    bytes.extend_from_slice(text.as_bytes());
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(bytes))
}
