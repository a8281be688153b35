//! Parses server-sent events from a stream of bytes.

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseMessage {
    /// Empty for a message without an `event` field.
    pub event: String,
    pub data: String,
    /// The last ID in the stream so far.
    pub id: Option<String>,
}

#[derive(Debug, Default)]
pub struct SseReader {
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
    message: SseMessage,
    has_data: bool,
}

impl SseReader {
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<SseMessage> {
        let mut done = Vec::new();
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line[..end]);
            done.extend(self.line(line.strip_suffix('\r').unwrap_or(&line)));
        }
        done
    }

    /// Parses one line. An empty line completes a message.
    fn line(&mut self, line: &str) -> Option<SseMessage> {
        if line.is_empty() {
            let message = SseMessage { id: self.message.id.clone(), ..SseMessage::default() };
            let message = std::mem::replace(&mut self.message, message);
            return std::mem::take(&mut self.has_data).then_some(message);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.message.event = value.to_owned(),
            "id" => self.message.id = Some(value.to_owned()),
            "data" => {
                if self.has_data {
                    self.message.data.push('\n');
                }
                self.message.data.push_str(value);
                self.has_data = true;
            }
            // A comment, or an unknown field.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ": hello\n\nid: 7\ndata: {\"a\":1}\n\nevent: heartbeat\r\nid: 9\r\ndata: {}\r\n\r\ndata: x\ndata: y\n\nid: 10\n\ndata";

    #[test]
    fn messages_do_not_depend_on_how_the_stream_is_split() {
        let message = |event: &str, data: &str, id: &str| SseMessage {
            event: event.into(),
            data: data.into(),
            id: Some(id.into()),
        };
        let wanted = vec![
            message("", "{\"a\":1}", "7"),
            message("heartbeat", "{}", "9"),
            message("", "x\ny", "9"),
        ];
        for size in [1, 2, 3, 7, STREAM.len()] {
            let mut reader = SseReader::default();
            let pieces = STREAM.as_bytes().chunks(size);
            let got: Vec<SseMessage> = pieces.flat_map(|piece| reader.feed(piece)).collect();
            assert_eq!(got, wanted, "in pieces of {size}");
        }
    }
}
