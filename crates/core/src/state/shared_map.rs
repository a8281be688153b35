//! A sorted map whose copies share memory: a tree of nodes with up to 64 entries.
//!
//! A copy costs the same for any size. While it exists, a change copies the nodes on the path to the changed entry.

use std::borrow::Borrow;
use std::sync::Arc;

/// A node with more entries is split. A node with less than a quarter is joined with its neighbour if both fit well.
const ENTRIES_MAX: usize = 64;

#[derive(Debug)]
pub(crate) struct SharedMap<K, V> {
    root: Arc<MapNode<K, V>>,
    len: usize,
}

#[derive(Debug, Clone)]
enum MapNode<K, V> {
    Leaf(Vec<(K, V)>),
    Inner(Vec<MapChild<K, V>>),
}

/// A node, and a key that is not greater than any key in it.
type MapChild<K, V> = (K, Arc<MapNode<K, V>>);

impl<K, V> Clone for SharedMap<K, V> {
    fn clone(&self) -> SharedMap<K, V> {
        SharedMap { root: self.root.clone(), len: self.len }
    }
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> SharedMap<K, V> {
        SharedMap { root: Arc::new(MapNode::Leaf(Vec::new())), len: 0 }
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for SharedMap<K, V> {
    fn eq(&self, other: &SharedMap<K, V>) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Eq, V: Eq> Eq for SharedMap<K, V> {}

impl<K, V> SharedMap<K, V> {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn iter(&self) -> MapRange<'_, K, V> {
        let mut range = MapRange { above: Vec::new(), leaf: [].iter() };
        range.descend(&self.root);
        range
    }

    pub fn first(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.get_key_value(key).map(|(_, value)| value)
    }

    pub fn get_key_value<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        let mut node = &*self.root;
        loop {
            match node {
                MapNode::Leaf(entries) => {
                    let at = entries.binary_search_by(|(own, _)| own.borrow().cmp(key)).ok()?;
                    return entries.get(at).map(|(key, value)| (key, value));
                }
                MapNode::Inner(children) => node = &children[child_of(children, key)].1,
            }
        }
    }

    /// The entries with this key or a greater one.
    pub fn range_from<Q: Ord + ?Sized>(&self, from: &Q) -> MapRange<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let mut range = MapRange { above: Vec::new(), leaf: [].iter() };
        let mut node = &*self.root;
        loop {
            match node {
                MapNode::Leaf(entries) => {
                    let at = entries.partition_point(|(own, _)| own.borrow() < from);
                    range.leaf = entries[at..].iter();
                    return range;
                }
                MapNode::Inner(children) => {
                    let at = child_of(children, from);
                    range.above.push(children[at + 1..].iter());
                    node = &children[at].1;
                }
            }
        }
    }
}

impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    /// Returns the value that was replaced.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let mut split = None;
        let before = Arc::make_mut(&mut self.root).insert(key, value, &mut split);
        if let Some((key, second)) = split {
            let lowest = self.root.first_key().unwrap_or(&key).clone();
            let first = std::mem::replace(&mut self.root, second.clone());
            self.root = Arc::new(MapNode::Inner(vec![(lowest, first), (key, second)]));
        }
        self.len += usize::from(before.is_none());
        before
    }

    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let mut node = Arc::make_mut(&mut self.root);
        loop {
            match node {
                MapNode::Leaf(entries) => {
                    let at = entries.binary_search_by(|(own, _)| own.borrow().cmp(key)).ok()?;
                    return entries.get_mut(at).map(|(_, value)| value);
                }
                MapNode::Inner(children) => {
                    let at = child_of(children, key);
                    node = Arc::make_mut(&mut children[at].1);
                }
            }
        }
    }

    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let value = Arc::make_mut(&mut self.root).remove(key)?;
        self.len -= 1;
        while let MapNode::Inner(children) = &*self.root {
            self.root = match &children[..] {
                [] => Arc::new(MapNode::Leaf(Vec::new())),
                [(_, only)] => only.clone(),
                _ => break,
            };
        }
        Some(value)
    }
}

impl<K: Ord + Clone, V: Clone> MapNode<K, V> {
    fn width(&self) -> usize {
        match self {
            MapNode::Leaf(entries) => entries.len(),
            MapNode::Inner(children) => children.len(),
        }
    }

    fn first_key(&self) -> Option<&K> {
        match self {
            MapNode::Leaf(entries) => entries.first().map(|(key, _)| key),
            MapNode::Inner(children) => children.first().map(|(key, _)| key),
        }
    }

    fn insert(&mut self, key: K, value: V, split: &mut Option<MapChild<K, V>>) -> Option<V> {
        match self {
            MapNode::Leaf(entries) => {
                let at = match entries.binary_search_by(|(own, _)| own.cmp(&key)) {
                    Ok(at) => return Some(std::mem::replace(&mut entries[at].1, value)),
                    Err(at) => at,
                };
                entries.insert(at, (key, value));
                *split = second_half(entries, at, MapNode::Leaf);
                None
            }
            MapNode::Inner(children) => {
                let at = child_of(children, &key);
                if key < children[at].0 {
                    children[at].0 = key.clone();
                }
                let mut below = None;
                let before = Arc::make_mut(&mut children[at].1).insert(key, value, &mut below);
                if let Some(new) = below {
                    children.insert(at + 1, new);
                    *split = second_half(children, at + 1, MapNode::Inner);
                }
                before
            }
        }
    }

    fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        match self {
            MapNode::Leaf(entries) => {
                let at = entries.binary_search_by(|(own, _)| own.borrow().cmp(key)).ok()?;
                Some(entries.remove(at).1)
            }
            MapNode::Inner(children) => {
                let at = child_of(children, key);
                let child = Arc::make_mut(&mut children[at].1);
                let value = child.remove(key)?;
                match child.width() {
                    0 => drop(children.remove(at)),
                    few if few < ENTRIES_MAX / 4 => join(children, at),
                    _ => {}
                }
                Some(value)
            }
        }
    }

    fn append(&mut self, other: MapNode<K, V>) {
        match (self, other) {
            (MapNode::Leaf(entries), MapNode::Leaf(other)) => entries.extend(other),
            (MapNode::Inner(children), MapNode::Inner(other)) => children.extend(other),
            // All leaves have the same depth.
            _ => unreachable!("neighbours are of the same kind"),
        }
    }
}

/// The child that contains the key if any does.
fn child_of<K: Borrow<Q>, Q: Ord + ?Sized, T>(children: &[(K, T)], key: &Q) -> usize {
    children.partition_point(|(lowest, _)| lowest.borrow() <= key).saturating_sub(1)
}

/// Splits a list that has become too long. In a list that grows at its end the first half stays full.
fn second_half<K: Clone, T, V>(
    list: &mut Vec<(K, T)>,
    inserted_at: usize,
    node: impl Fn(Vec<(K, T)>) -> MapNode<K, V>,
) -> Option<MapChild<K, V>> {
    if list.len() <= ENTRIES_MAX {
        return None;
    }
    let at = if inserted_at == ENTRIES_MAX { ENTRIES_MAX } else { ENTRIES_MAX / 2 };
    let second = list.split_off(at);
    let first_key = second.first().map(|(key, _)| key.clone())?;
    Some((first_key, Arc::new(node(second))))
}

/// Joins a small node with a neighbour, if the two leave room for further entries.
fn join<K: Ord + Clone, V: Clone>(children: &mut Vec<MapChild<K, V>>, at: usize) {
    let first = if at + 1 < children.len() { at } else { at.saturating_sub(1) };
    let widths = children.iter().skip(first).take(2).map(|(_, child)| child.width());
    if children.len() > 1 && widths.sum::<usize>() <= ENTRIES_MAX * 3 / 4 {
        let (_, second) = children.remove(first + 1);
        Arc::make_mut(&mut children[first].1).append(Arc::unwrap_or_clone(second));
    }
}

/// Entries in the order of their keys.
#[derive(Debug)]
pub(crate) struct MapRange<'a, K, V> {
    /// By level: the children that follow.
    above: Vec<std::slice::Iter<'a, MapChild<K, V>>>,
    leaf: std::slice::Iter<'a, (K, V)>,
}

impl<'a, K, V> MapRange<'a, K, V> {
    fn descend(&mut self, mut node: &'a MapNode<K, V>) {
        loop {
            match node {
                MapNode::Leaf(entries) => {
                    self.leaf = entries.iter();
                    return;
                }
                MapNode::Inner(children) => {
                    let mut children = children.iter();
                    let first = children.next();
                    self.above.push(children);
                    match first {
                        Some((_, child)) => node = child,
                        None => return,
                    }
                }
            }
        }
    }
}

impl<'a, K, V> Iterator for MapRange<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<(&'a K, &'a V)> {
        loop {
            if let Some((key, value)) = self.leaf.next() {
                return Some((key, value));
            }
            match self.above.last_mut()?.next() {
                Some((_, node)) => self.descend(node),
                None => drop(self.above.pop()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::random;

    fn depth<K, V>(node: &MapNode<K, V>) -> usize {
        match node {
            MapNode::Leaf(_) => 1,
            MapNode::Inner(children) => 1 + depth(&children[0].1),
        }
    }

    #[test]
    fn equals_a_map_of_the_standard_library_under_random_changes() {
        for (seed, keys) in [(1, 50), (2, 1000), (3, 40_000)] {
            let (mut map, mut model) = (SharedMap::default(), BTreeMap::new());
            let mut copies: Vec<(SharedMap<u64, u64>, BTreeMap<u64, u64>)> = Vec::new();
            let mut random = seed;
            for step in 0..60_000_u64 {
                let key = random::next(&mut random) % keys;
                // First it mostly grows, then it mostly shrinks.
                if (random::next(&mut random) % 10 < 7) == (step < 30_000) {
                    assert_eq!(map.insert(key, step), model.insert(key, step));
                } else {
                    assert_eq!(map.remove(&key), model.remove(&key));
                }
                if step % 10_000 == 0 {
                    copies.push((map.clone(), model.clone()));
                }
                if step % 1000 == 0 {
                    let from = random::next(&mut random) % keys;
                    assert!(map.range_from(&from).eq(model.range(from..)), "{seed} {step}");
                    assert_eq!(map.get(&from), model.get(&from));
                    if let (Some(own), Some(other)) = (map.get_mut(&from), model.get_mut(&from)) {
                        (*own, *other) = (step, step);
                    }
                }
            }
            for (map, model) in copies.into_iter().chain([(map, model)]) {
                assert!(map.iter().eq(&model), "{seed}");
                assert_eq!((map.len(), map.first()), (model.len(), model.first_key_value()));
            }
        }
    }

    #[test]
    fn shrinks_to_one_node_and_ascending_keys_fill_their_nodes() {
        let mut map: SharedMap<u32, ()> = SharedMap::default();
        for key in 0..10_000 {
            map.insert(key, ());
        }
        assert_eq!(depth(&map.root), 3);
        let MapNode::Inner(children) = &*map.root else { panic!("one node") };
        assert_eq!(children[0].1.width(), ENTRIES_MAX);
        for key in (1..10_000).rev() {
            map.remove(&key);
        }
        assert_eq!((map.len(), depth(&map.root), map.remove(&5)), (1, 1, None));
        assert_eq!((map.remove(&0), map.len(), map.first()), (Some(()), 0, None));
    }

    #[test]
    fn only_the_path_to_a_change_is_copied() {
        let mut map: SharedMap<u32, u32> = SharedMap::default();
        for key in 0..10_000 {
            map.insert(key, 0);
        }
        let copy = map.clone();
        map.insert(5000, 1);
        let children = |map: &SharedMap<u32, u32>| match &*map.root {
            MapNode::Inner(children) => children.iter().map(|(_, child)| child.clone()).collect(),
            MapNode::Leaf(_) => Vec::new(),
        };
        let (before, after) = (children(&copy), children(&map));
        let differ = before.iter().zip(&after).filter(|(one, other)| !Arc::ptr_eq(one, other));
        assert_eq!(differ.count(), 1);
        assert_eq!((copy.get(&5000), map.get(&5000)), (Some(&0), Some(&1)));
        // A key that is not there changes nothing, and copies nothing.
        map.remove(&70_000);
        assert!(Arc::ptr_eq(&children(&map)[0], &children(&copy)[0]));
    }
}
