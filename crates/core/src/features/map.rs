//! Values by name in one sorted list, for device code that a page downloads: a B-tree is a tenth of their code, and records are small.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};

/// Values by name, in the order of the names: what is used of a `BTreeMap<String, V>` here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Map<V>(Vec<(String, V)>);

impl<V> Default for Map<V> {
    fn default() -> Self {
        Map(Vec::new())
    }
}

impl<V> Map<V> {
    /// Nothing.
    pub fn new() -> Self {
        Map::default()
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| other.as_str().cmp(name))
    }

    /// Puts a value under a name, and gives back what was there.
    pub fn insert(&mut self, name: String, value: V) -> Option<V> {
        match self.place(&name) {
            Ok(place) => Some(std::mem::replace(&mut self.0[place].1, value)),
            Err(place) => {
                self.0.insert(place, (name, value));
                None
            }
        }
    }

    /// The value under a name.
    pub fn get(&self, name: &str) -> Option<&V> {
        self.place(name).ok().map(|place| &self.0[place].1)
    }

    /// Takes the value under a name out.
    pub fn remove(&mut self, name: &str) -> Option<V> {
        self.place(name).ok().map(|place| self.0.remove(place).1)
    }

    /// Returns whether there is a value under a name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_ok()
    }

    /// Number of them.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &V)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// The names.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.0.iter().map(|(name, _)| name)
    }

    /// The values.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }
}

impl<V> IntoIterator for Map<V> {
    type Item = (String, V);
    type IntoIter = std::vec::IntoIter<(String, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, V> IntoIterator for &'a Map<V> {
    type Item = (&'a String, &'a V);
    type IntoIter = std::iter::Map<
        std::slice::Iter<'a, (String, V)>,
        fn(&'a (String, V)) -> (&'a String, &'a V),
    >;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(name, value)| (name, value))
    }
}

impl<V> FromIterator<(String, V)> for Map<V> {
    fn from_iter<I: IntoIterator<Item = (String, V)>>(entries: I) -> Self {
        let mut map = Map::new();
        for (name, value) in entries {
            map.insert(name, value);
        }
        map
    }
}

impl<V: Serialize> Serialize for Map<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Map<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries(std::marker::PhantomData))
    }
}

struct Entries<V>(std::marker::PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for Entries<V> {
    type Value = Map<V>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("values by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Map<V>, A::Error> {
        let mut map = Map::new();
        while let Some((name, value)) = entries.next_entry()? {
            map.insert(name, value);
        }
        Ok(map)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever is put in and taken out: it is a `BTreeMap`, in memory and as bytes.
        #[test]
        fn it_is_a_btree_map(steps in prop::collection::vec(("[a-d]{0,2}", any::<Option<u8>>()), 0..40)) {
            let (mut map, mut tree) = (Map::new(), BTreeMap::new());
            for (name, value) in steps {
                prop_assert_eq!(map.get(&name), tree.get(&name));
                prop_assert_eq!(map.contains_key(&name), tree.contains_key(&name));
                match value {
                    Some(value) => prop_assert_eq!(map.insert(name.clone(), value), tree.insert(name, value)),
                    None => prop_assert_eq!(map.remove(&name), tree.remove(&name)),
                }
                prop_assert_eq!((map.len(), map.is_empty()), (tree.len(), tree.is_empty()));
            }
            prop_assert!(map.iter().eq(tree.iter()) && map.keys().eq(tree.keys()) && map.values().eq(tree.values()));
            prop_assert!((&map).into_iter().eq(&tree) && map.clone().into_iter().eq(tree.clone()));
            let bytes = postcard::to_stdvec(&map).unwrap();
            prop_assert_eq!(&bytes, &postcard::to_stdvec(&tree).unwrap());
            prop_assert_eq!(&postcard::from_bytes::<Map<u8>>(&bytes).unwrap(), &map);
            prop_assert_eq!(tree.into_iter().collect::<Map<u8>>(), map);
        }
    }
}
