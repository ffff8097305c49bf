//! The calls as OpenAPI 3.1, made from the code: types and attributes of the handlers, which only builds for tests read.

use std::collections::BTreeMap;

use utoipa::{
    IntoResponses, Modify, OpenApi, PartialSchema, ToSchema,
    openapi::{
        Content, HeaderBuilder, Ref, RefOr, Required, Response, ResponseBuilder,
        path::{Parameter, ParameterBuilder, ParameterIn},
        security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme},
    },
};

use super::super::{
    Problem, device, export, health, loops, openapi, people, personalizer, problem, rank, reward,
};

/// The problems that every call may answer with.
pub(in crate::http) struct Problems;

/// The same as Personalizer's clients read them.
pub(in crate::http) struct PersonalizerProblems;

const PROBLEMS: [(&str, &str); 13] = [
    ("400", "The request cannot be read"),
    ("401", "A key is needed"),
    ("403", "The key has another role or loop"),
    ("404", "There is no such loop or event"),
    ("408", "The body came too slowly"),
    (
        "409",
        "The event_id is in use, with another body or under another key, or its person was erased",
    ),
    ("410", "The event has closed"),
    ("413", "The body is too large"),
    ("415", "The body is not marked as JSON"),
    ("422", "A field cannot be used"),
    ("429", "Too many requests: wait as Retry-After says"),
    ("500", "The service failed"),
    ("503", "This cannot be done at present"),
];

fn responses(schema: &str, kind: &str) -> BTreeMap<String, RefOr<Response>> {
    let response = |(status, description): (&str, &str)| {
        let content = Content::new(Some(Ref::from_schema_name(schema)));
        let mut response = ResponseBuilder::new().description(description).content(kind, content);
        if status == "429" {
            let seconds = HeaderBuilder::new().schema(u64::schema()).build();
            response = response.header("Retry-After", seconds);
        }
        (status.to_string(), RefOr::T(response.build()))
    };
    PROBLEMS.into_iter().map(response).collect()
}

impl IntoResponses for Problems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        responses(&Problem::name(), "application/problem+json")
    }
}

impl IntoResponses for PersonalizerProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        responses(&personalizer::PersonalizerErrorBody::name(), "application/json")
    }
}

#[derive(OpenApi)]
#[openapi(
    info(title = "Reticent", description = "Private decisions over HTTP, each beside a certificate of the guarantee to the people they are learnt from."),
    paths(
        rank::rank, rank::rank_batch, reward::reward, reward::reward_batch, reward::activate,
        loops::list, loops::certificate, loops::releases, loops::together, loops::model,
        device::protocol, device::report, device::report_batch, device::sealing, device::batches, device::batch,
        export::export, people::erase, personalizer::rank, personalizer::reward, personalizer::activate,
        health::healthz, health::readyz, health::readyz_requests, health::metrics, openapi::document
    ),
    components(schemas(problem::Problem, personalizer::PersonalizerErrorBody)),
    modifiers(&Additions)
)]
struct Api;

/// Parts of the description that the attributes of the calls lack.
struct Additions;

impl Modify for Additions {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let components = api.components.get_or_insert_default();
        components
            .add_security_scheme("key", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
        let header = ApiKey::Header(ApiKeyValue::new("Ocp-Apim-Subscription-Key"));
        components.add_security_scheme("subscription_key", SecurityScheme::ApiKey(header));
        // Newer clients of Personalizer name the version behind the address.
        let old: Vec<_> =
            api.paths.paths.iter().map(|(path, item)| (path.clone(), item.clone())).collect();
        for (path, mut item) in old {
            let Some(rest) = path.strip_prefix("/personalizer/v1.0") else { continue };
            if let Some(operation) = &mut item.post {
                operation.parameters.get_or_insert_default().push(version_parameter());
                operation.operation_id =
                    operation.operation_id.as_ref().map(|id| format!("{id}_versioned"));
            }
            api.paths.paths.insert(format!("/personalizer{rest}"), item);
        }
    }
}

fn version_parameter() -> Parameter {
    ParameterBuilder::new()
        .name("api-version")
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .schema(Some(String::schema()))
        .build()
}

/// The committed document is the one of the code. With RETICENT_WRITE=1 it is written anew.
#[test]
fn the_committed_document_is_that_of_the_code() {
    let text = serde_json::to_string_pretty(&Api::openapi()).unwrap() + "\n";
    if std::env::var("RETICENT_WRITE").is_ok_and(|value| value == "1") {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/http/openapi/openapi.json");
        return std::fs::write(file, text).unwrap();
    }
    let differing = text.lines().zip(super::TEXT.lines()).find(|(code, file)| code != file);
    assert!(
        text == super::TEXT,
        "http/openapi/openapi.json is not that of the code, first at {differing:?}: RETICENT_WRITE=1 cargo test -p reticent-server --lib openapi"
    );
}
