//! Many connections, short ones, and requests that do not wait for answers.

use std::io::{Read, Write};
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::wire;
use crate::{Sent, Target};

const GET: &str = "GET /v1/limits HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// Idle connections in great number, then connections that end at once.
pub(super) fn open_many(target: &Target) -> Result<Sent> {
    let (idle, short) = target.effort.pick((8000, 20_000), (500, 1000));
    allod_testkit::open_files::raise(idle)?;
    let mut open = Vec::with_capacity(idle);
    for number in 0..idle {
        let mut stream = wire::connect(target.address)?;
        if number % 2 == 0 {
            stream.write_all(GET.as_bytes())?;
        }
        open.push(stream);
    }
    for number in 0..short {
        let mut stream = wire::connect(target.address)?;
        if number % 2 == 0 {
            stream.write_all(GET.as_bytes())?;
        }
    }
    for stream in open.iter_mut().step_by(2) {
        let mut line = [0; 12];
        stream.read_exact(&mut line)?;
        ensure!(&line == b"HTTP/1.1 200", "{}", String::from_utf8_lossy(&line));
    }
    Ok(Sent {
        count: (idle + short) as u64,
        answers: format!("{idle} connections were served at a time"),
    })
}

/// Requests in one stream of bytes. Half of the clients read no answer until all is sent, as far as the sockets buffer.
pub(super) fn pipeline(target: &Target) -> Result<Sent> {
    let (clients, each) = target.effort.pick((16, 20_000), (8, 2000));
    super::parallel(clients, |number| {
        let mut stream = wire::connect(target.address)?;
        let mut sender = stream.try_clone()?;
        let unread = number % 2 == 0;
        if unread {
            // The server stops to read when its answers are not read; then nothing more can be sent.
            sender.set_write_timeout(Some(Duration::from_secs(2)))?;
            let many = GET.repeat(100);
            let sent = (0..each / 100).take_while(|_| sender.write_all(many.as_bytes()).is_ok());
            return Ok(sent.count());
        }
        let sending = std::thread::spawn(move || {
            let last = GET.replace("host:", "connection: close\r\nhost:");
            let all = GET.repeat(each - 1) + &last;
            sender.write_all(all.as_bytes())
        });
        let mut all = Vec::new();
        stream.read_to_end(&mut all)?;
        sending.join().map_err(|_| anyhow::anyhow!("the sender panicked"))??;
        let answers = String::from_utf8_lossy(&all).matches("HTTP/1.1 200 ").count();
        ensure!(answers == each, "{answers} answers to {each} requests");
        Ok(answers)
    })?;
    Ok(Sent {
        count: (clients * each) as u64,
        answers: "answered in order, or no longer read".into(),
    })
}
