//! Fields of the JSON objects that a device reads, by little code, for devices that are downloaded with a page.

use reticent::{
    Error, Result,
    features::{Map, Value, members_from_json},
    wire::Kind,
};

/// The fields of an object, which are taken out of it one by one.
pub(crate) struct Fields(pub(crate) Map<Value>);

impl Fields {
    /// The fields of an object; those that are not taken may be any.
    pub(crate) fn of_object(field: &'static str, bytes: &[u8]) -> Result<Self> {
        record(field, Value::from_json(field, bytes)?)
    }

    /// The fields of a message behind its kind and its version.
    pub(crate) fn of_message(kind: Kind, bytes: &[u8]) -> Result<Self> {
        let members = members_from_json(kind.name(), bytes)?;
        let mut members = members.into_iter();
        let expected = [
            ("kind", Value::Text(kind.name().to_string())),
            ("version", Value::Integer(kind.version().into())),
        ];
        for (name, value) in expected {
            match members.next() {
                Some((found, given)) if found == name => {
                    if given != value {
                        let remedy = format!("this device reads {kind}: update the older program");
                        return Err(Error::invalid(name, shown(&given), remedy));
                    }
                }
                _ => {
                    let remedy = format!("expected one of {kind}; or update the older program");
                    let value = format!("a message without {name:?}");
                    return Err(Error::invalid(kind.name(), value, remedy));
                }
            }
        }
        let mut fields = Map::new();
        for (name, value) in members {
            if fields.insert(name, value).is_some() {
                return Err(undecoded(kind, bytes.len(), &wrong("fields")));
            }
        }
        Ok(Fields(fields))
    }

    pub(crate) fn take(&mut self, field: &'static str) -> Result<Value> {
        self.0.remove(field).ok_or_else(|| wrong(field))
    }

    /// A field that may be left out.
    pub(crate) fn given(&mut self, field: &'static str) -> Option<Value> {
        self.0.remove(field).filter(|value| *value != Value::Missing)
    }

    /// An object that may be left out, all of whose fields are read.
    pub(crate) fn inside<T>(
        &mut self,
        field: &'static str,
        read: impl FnOnce(&mut Fields) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.given(field) else { return Ok(None) };
        let mut fields = record(field, value)?;
        let found = read(&mut fields)?;
        fields.end().map(|()| Some(found))
    }

    pub(crate) fn optional_text(&mut self, field: &'static str) -> Result<Option<String>> {
        self.given(field).map(|value| text(field, value)).transpose()
    }

    pub(crate) fn whole_32(&mut self, field: &'static str) -> Result<u32> {
        u32::try_from(self.whole(field)?).map_err(|_| wrong(field))
    }

    /// Refuses fields that were not taken.
    pub(crate) fn end(&self) -> Result<()> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(Error::invalid("fields", "an unknown one", "update the older program")),
        }
    }

    pub(crate) fn table(&mut self, field: &'static str) -> Result<Fields> {
        record(field, self.take(field)?)
    }

    pub(crate) fn list(&mut self, field: &'static str) -> Result<Vec<Value>> {
        match self.take(field)? {
            Value::List(values) => Ok(values),
            _ => Err(wrong(field)),
        }
    }

    pub(crate) fn number(&mut self, field: &'static str) -> Result<f64> {
        number(field, &self.take(field)?)
    }

    pub(crate) fn optional(&mut self, field: &'static str) -> Result<Option<f64>> {
        match self.take(field)? {
            Value::Missing => Ok(None),
            value => number(field, &value).map(Some),
        }
    }

    pub(crate) fn nothing<T>(&mut self, field: &'static str) -> Result<Option<T>> {
        match self.take(field)? {
            Value::Missing => Ok(None),
            _ => Err(Error::invalid(
                field,
                "a value",
                "the noise of devices follows from the levels",
            )),
        }
    }

    pub(crate) fn numbers(&mut self, field: &'static str) -> Result<Vec<f64>> {
        self.list(field)?.iter().map(|value| number(field, value)).collect()
    }

    pub(crate) fn text(&mut self, field: &'static str) -> Result<String> {
        text(field, self.take(field)?)
    }

    pub(crate) fn flag(&mut self, field: &'static str) -> Result<bool> {
        match self.take(field)? {
            Value::Bool(flag) => Ok(flag),
            _ => Err(wrong(field)),
        }
    }

    pub(crate) fn whole(&mut self, field: &'static str) -> Result<u64> {
        match self.take(field)? {
            Value::Integer(number) => u64::try_from(number).map_err(|_| wrong(field)),
            _ => Err(wrong(field)),
        }
    }

    pub(crate) fn size(&mut self, field: &'static str) -> Result<usize> {
        usize::try_from(self.whole(field)?).map_err(|_| wrong(field))
    }

    /// A number below 2^53, and text from there on.
    pub(crate) fn count(&mut self, field: &'static str) -> Result<u64> {
        let count = match self.take(field)? {
            Value::Integer(count) => u64::try_from(count).ok().filter(|count| count >> 53 == 0),
            Value::Text(digits) => {
                let large = |count: &u64| count >> 53 > 0 && count.to_string() == digits;
                digits.parse().ok().filter(large)
            }
            _ => None,
        };
        count.ok_or_else(|| wrong(field))
    }

    /// 64 bits as 16 hexadecimal digits.
    pub(crate) fn word(&mut self, field: &'static str) -> Result<u64> {
        let digits = self.text(field)?;
        let plain = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let word = u64::from_str_radix(&digits, 16).ok().filter(|_| plain);
        word.ok_or_else(|| wrong(field))
    }
}

pub(crate) fn wrong(field: &'static str) -> Error {
    Error::invalid(field, "nothing or another form", "update the older program")
}

pub(crate) fn record(field: &'static str, value: Value) -> Result<Fields> {
    match value {
        Value::Record(entries) => Ok(Fields(entries)),
        _ => Err(wrong(field)),
    }
}

/// The parameters of the only choice that a table names.
pub(crate) fn only(name: &'static str, value: Value) -> Result<Fields> {
    let mut table = record(name, value)?;
    let fields = table.table(name)?;
    table.end().map(|()| fields)
}

pub(crate) fn number(field: &'static str, value: &Value) -> Result<f64> {
    match value {
        Value::Integer(number) => Ok(*number as f64),
        Value::Number(number) => Ok(*number),
        _ => Err(wrong(field)),
    }
}

pub(crate) fn text(field: &'static str, value: Value) -> Result<String> {
    match value {
        Value::Text(text) => Ok(text),
        _ => Err(wrong(field)),
    }
}

/// A kind or a version of another program.
fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{:?}", text.chars().take(40).collect::<String>()),
        // Versions are small, and doubles are printed elsewhere.
        Value::Integer(number) => (*number as f64).to_string(),
        _ => "another form".to_string(),
    }
}

/// The refusal of a message.
pub(crate) fn undecoded(kind: Kind, size: usize, error: &Error) -> Error {
    let remedy = format!("it cannot be decoded ({error}): refuse its sender");
    Error::invalid(kind.name(), format!("{size} bytes"), remedy)
}
