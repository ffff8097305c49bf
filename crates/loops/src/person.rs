//! The person in the context, where the loop's file names a path for it: taken out of the features, and used if no other person is given.

use reticent::features::Value;

use super::RankRequest;
use crate::config::person_path;

impl RankRequest {
    /// Takes the person at `person_from` out of the context, wherever the path leads. `person` comes first where it is given.
    pub fn take_person(&mut self, person_from: &str) {
        let path = person_path(person_from);
        let found = match self.context.at(path) {
            Some(Value::Text(text)) => Some(text.clone()),
            Some(Value::Integer(number)) => Some(number.to_string()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        remove(&mut self.context, path);
        if self.person.is_none() {
            self.person = found.filter(|person| !person.is_empty());
        }
    }
}

fn remove(value: &mut Value, path: &str) {
    match value {
        Value::List(members) => members.iter_mut().for_each(|member| remove(member, path)),
        Value::Record(entries) => {
            entries.remove(path);
            for (dot, _) in path.match_indices('.') {
                if let Some(inner) = entries.get_mut(&path[..dot]) {
                    remove(inner, &path[dot + 1..]);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str, path: &str) -> RankRequest {
        let mut request: RankRequest = serde_json::from_str(text).unwrap();
        request.take_person(path);
        request
    }

    #[test]
    fn the_person_is_taken_out_of_the_features() {
        let text = r#"{"context": [{"user": {"id": 7, "age": 31}}, {"user.id": "x", "user": [{"id": 9}]}], "actions": []}"#;
        let request = taken(text, "contextFeatures.user.id");
        assert_eq!(request.person.as_deref(), Some("7"));
        assert_eq!(request.context.at("user.id"), None);
        assert_eq!(request.context.at("user.age"), Some(&Value::Integer(31)));
        for person in ["null", "[]", "{}", "\"\"", "true"] {
            let text = format!(r#"{{"context": [{{"id": {person}}}], "actions": []}}"#);
            let request = taken(&text, "id");
            assert_eq!((request.person, request.context.at("id")), (None, None), "{person}");
        }
        let request = taken(r#"{"person": "a", "context": {"id": "b"}, "actions": []}"#, "id");
        assert_eq!((request.person.as_deref(), request.context.at("id")), (Some("a"), None));
    }
}
