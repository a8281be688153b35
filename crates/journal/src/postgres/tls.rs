//! How connections are secured. So far they are not: sockets of this machine, or a network that is trusted.

use tokio_postgres::NoTls;
use tokio_postgres::config::SslMode;

use super::address::Address;

pub fn connector(address: &Address) -> Result<NoTls, String> {
    match address.config.get_ssl_mode() {
        SslMode::Require => Err("sslmode=require is not supported by this build".to_owned()),
        _ => Ok(NoTls),
    }
}
