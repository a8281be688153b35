//! All filters of a read request, in their order.

use super::{
    ContentFilter, Defaults, DefaultsFilter, DepthFilter, FieldsFilter, NodeSink, NodeSource,
    Selection, Walk,
};
use crate::model::Content;
use crate::yang::Schema;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFilters {
    pub content: Content,
    /// `None`: unbounded.
    pub depth: Option<u32>,
    pub fields: Option<Selection>,
    pub defaults: Defaults,
    /// The target is the datastore. Its children, which the source yields, are the second level.
    pub at_datastore: bool,
}

impl ReadFilters {
    /// No filter: everything that the model reports.
    pub fn whole() -> ReadFilters {
        ReadFilters {
            content: Content::All,
            depth: None,
            fields: None,
            defaults: Defaults::Explicit,
            at_datastore: false,
        }
    }

    pub fn walk(&self, schema: &Schema, source: &dyn NodeSource, sink: &mut dyn NodeSink) -> Walk {
        let levels =
            self.depth.map_or(u32::MAX, |depth| depth.saturating_sub(u32::from(self.at_datastore)));
        // Defaults come first, so that the other filters see the nodes that they add.
        let mut depth = DepthFilter::new(schema, levels, sink);
        let selection = self.fields.as_ref().unwrap_or(&Selection::All);
        let mut fields = FieldsFilter::new(schema, selection, self.at_datastore, &mut depth);
        let mut content = ContentFilter::new(schema, self.content, &mut fields);
        let mut defaults = DefaultsFilter::new(schema, self.defaults, &mut content);
        source.walk(&mut defaults)
    }
}
