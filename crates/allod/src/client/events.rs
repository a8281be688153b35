//! Server-sent events out of a stream of bytes, however it is cut into pieces.

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// Empty for the usual kind of message.
    pub event: String,
    pub data: String,
    /// The last id that was seen, up to and with this message.
    pub id: Option<String>,
}

/// Collects bytes and gives out the messages that are complete.
#[derive(Debug, Default)]
pub struct Reader {
    /// Bytes of a line whose end has not come yet.
    rest: Vec<u8>,
    message: Message,
    has_data: bool,
}

impl Reader {
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Message> {
        let mut done = Vec::new();
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line[..end]);
            done.extend(self.line(line.strip_suffix('\r').unwrap_or(&line)));
        }
        done
    }

    /// Takes one line; an empty one completes a message.
    fn line(&mut self, line: &str) -> Option<Message> {
        if line.is_empty() {
            let message = Message { id: self.message.id.clone(), ..Message::default() };
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
            // A comment, or a field that a later server may send.
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
    fn messages_are_the_same_however_the_stream_is_cut() {
        let message = |event: &str, data: &str, id: &str| Message {
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
            let mut reader = Reader::default();
            let pieces = STREAM.as_bytes().chunks(size);
            let got: Vec<Message> = pieces.flat_map(|piece| reader.feed(piece)).collect();
            assert_eq!(got, wanted, "in pieces of {size}");
        }
    }
}
