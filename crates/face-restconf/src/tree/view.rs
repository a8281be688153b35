//! What of a source is told: all filters of a request, in their order.

use super::{
    ContentFilter, Defaults, DefaultsFilter, DepthFilter, FieldsFilter, Selection, Sink, Source,
    Stopped,
};
use crate::model::Content;
use crate::yang::Schema;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    pub content: Content,
    /// `None`: unbounded.
    pub depth: Option<u32>,
    pub fields: Option<Selection>,
    pub defaults: Defaults,
    /// Whether the target is the datastore itself. Then the source yields its children, which are the second level.
    pub at_datastore: bool,
}

impl View {
    /// Everything, as the model tells it.
    pub fn whole() -> View {
        View {
            content: Content::All,
            depth: None,
            fields: None,
            defaults: Defaults::Explicit,
            at_datastore: false,
        }
    }

    pub fn walk(
        &self,
        schema: &Schema,
        source: &dyn Source,
        sink: &mut dyn Sink,
    ) -> Result<(), Stopped> {
        let levels =
            self.depth.map_or(u32::MAX, |depth| depth.saturating_sub(u32::from(self.at_datastore)));
        // Defaults first: what they add is looked at like everything else.
        let mut depth = DepthFilter::new(schema, levels, sink);
        let selection = self.fields.as_ref().unwrap_or(&Selection::All);
        let mut fields = FieldsFilter::new(schema, selection, self.at_datastore, &mut depth);
        let mut content = ContentFilter::new(schema, self.content, &mut fields);
        let mut defaults = DefaultsFilter::new(schema, self.defaults, &mut content);
        source.walk(&mut defaults)
    }
}
